"""The line that says where the figures of a record come from."""


def of(record):
    """Device, driver, date, copy bandwidth and sources. A record that does not name its sources is marked: its figures
    may be those of other code."""
    sources = record.get("sources_sha256")
    return (f"{record['device']}, driver {record['driver']}, {record['date']}, copy {record['copy_gbps']:.0f} GB/s, "
            + (f"sources {sources[:12]}" if sources else "**sources not recorded**"))
