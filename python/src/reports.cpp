#include "reports.hpp"

#include "arrays.hpp"
#include "partition.hpp"

#include <blockjacobi/block_jacobi.hpp>
#include <blockjacobi/multigrid.hpp>
#include <blockjacobi/solver.hpp>
#include <blockjacobi/suggest.hpp>
#include <blockjacobi/two_level.hpp>

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <array>
#include <cstdio>

namespace blockjacobi::python {

namespace {

nb::object parsed(const std::string& json) { return nb::module_::import_("json").attr("loads")(json); }

void bind_setup(nb::module_& module) {
  nb::class_<SetupTimes>(module, "SetupTimes", "Seconds that the phases of construction and of the last rebuild took.")
      .def_ro("analysis", &SetupTimes::analysis, "Of the pattern, and allocation; at construction.")
      .def_ro("inversion", &SetupTimes::inversion, "Extraction, equilibration and inversion.")
      .def_ro("repair", &SetupTimes::repair, "Of singular blocks under ``shift`` and ``pseudo_inverse``.")
      .def_ro("storage", &SetupTimes::storage, "Choice of the formats and conversion.");

  nb::class_<BlockDefect>(module, "BlockDefect", "A block that could not be inverted; ``str()`` says what is wrong.")
      .def_ro("block", &BlockDefect::block, "Number of the block.")
      .def_prop_ro(
          "rows",
          [](const BlockDefect& self) {
            if (!self.original_rows.empty()) return self.original_rows;
            std::vector<index_t> rows;
            for (index_t k = 0; k < self.size; ++k) rows.push_back(self.first_row + k);
            return rows;
          },
          "Its rows, in the numbering of the matrix.")
      .def_ro("info", &BlockDefect::info, "As :meth:`BlockJacobi.info`.")
      .def_ro("rcond", &BlockDefect::rcond, "As :meth:`BlockJacobi.rcond`.")
      .def("__repr__", [](const BlockDefect& self) { return "<blockjacobi.BlockDefect: " + describe(self) + ">"; })
      .def("__str__", [](const BlockDefect& self) { return describe(self); });

  nb::class_<BlockJacobiReport>(module, "Report", R"(What the set-up of a :class:`BlockJacobi` found.

``str()`` gives a few lines of text, ``to_dict()`` everything as a dict.)")
      .def_ro("rows", &BlockJacobiReport::rows, "Rows of the matrix.")
      .def_ro("blocks", &BlockJacobiReport::blocks, "How many blocks there are.")
      .def_prop_ro(
          "dtype", [](const BlockJacobiReport& self) { return numpy_name(self.scalar); }, "NumPy's name of the scalar.")
      .def_prop_ro(
          "singular", [](const BlockJacobiReport& self) { return to_string(self.policy); },
          "What takes the place of singular blocks.")
      .def_prop_ro(
          "sizes",
          [](const BlockJacobiReport& self) {
            nb::typed<nb::dict, int, int> sizes;
            for (const auto& [order, count] : self.sizes) sizes[nb::int_(order)] = count;
            return sizes;
          },
          "How many blocks there are of each order.")
      .def_ro("bytes", &BlockJacobiReport::bytes, "Bytes held in the backend's memory.")
      .def_ro("inverse_bytes", &BlockJacobiReport::inverse_bytes, "Bytes of the inverses alone.")
      .def_ro("entries_inside", &BlockJacobiReport::entries_inside,
              "Stored entries inside the blocks / stored entries.")
      .def_ro("singular_blocks", &BlockJacobiReport::singular_blocks, "How many blocks are singular.")
      .def_ro("non_finite_blocks", &BlockJacobiReport::non_finite_blocks, "How many blocks hold NaN or Inf.")
      .def_ro("min_rcond", &BlockJacobiReport::min_rcond,
              "Smallest reciprocal condition number of the blocks that were inverted; 1 if there is none.")
      .def_ro("min_rcond_block", &BlockJacobiReport::min_rcond_block, "The block that has it; -1 if there is none.")
      .def_ro("defects", &BlockJacobiReport::defects, "Every block that could not be inverted.")
      .def_prop_ro(
          "storage", [](const BlockJacobiReport& self) { return to_string(self.storage); },
          "The storage that was asked for.")
      .def_prop_ro(
          "formats",
          [](const BlockJacobiReport& self) {
            nb::typed<nb::dict, nb::str, int> formats;
            for (const auto& [format, count] : self.formats) formats[to_string(format)] = count;
            return formats;
          },
          "How many blocks are stored in each format.")
      .def_ro("unsuited_blocks", &BlockJacobiReport::unsuited_blocks, "Blocks that do not suit their format.")
      .def_ro("first_unsuited", &BlockJacobiReport::first_unsuited, "The first of them; -1 if there is none.")
      .def_ro("times", &BlockJacobiReport::times, "With ``profile=True``.")
      .def_ro("captured", &BlockJacobiReport::captured,
              "The weight of the matrix that lies inside the blocks, 0 to 1; with ``report(A)``.")
      .def_ro("max_growth", &BlockJacobiReport::max_growth, "Largest pivot growth; with ``report(A)``.")
      .def_ro("max_growth_block", &BlockJacobiReport::max_growth_block, "The block that has it.")
      .def(
          "to_dict",
          [](const BlockJacobiReport& self) {
            return nb::typed<nb::dict, nb::str, nb::object>(nb::cast<nb::dict>(parsed(to_json(self))));
          },
          "Everything, with every defect; NaN and Inf are None.")
      .def("__str__", [](const BlockJacobiReport& self) { return to_text(self); })
      .def("__repr__", [](const BlockJacobiReport& self) {
        return "<blockjacobi.Report: " + std::to_string(self.rows) + " rows in " + std::to_string(self.blocks) +
               " blocks, " + std::to_string(self.singular_blocks + self.non_finite_blocks) + " defects>";
      });
}

void bind_solve(nb::module_& module) {
  nb::class_<SolveProgress>(module, "SolveProgress", "Shown to the progress callback of :func:`solve`.")
      .def_ro("iteration", &SolveProgress::iteration, "Iterations so far.")
      .def_ro("residual", &SolveProgress::residual, "Norm of the recurrence's residual.")
      .def_ro("target", &SolveProgress::target, "The norm that ends the solve.")
      .def("__repr__", [](const SolveProgress& self) {
        std::array<char, 128> text{};
        std::snprintf(text.data(), text.size(), "<blockjacobi.SolveProgress: iteration %d, residual %.3g, target %.3g>",
                      static_cast<int>(self.iteration), self.residual, self.target);
        return std::string(text.data());
      });

  nb::class_<SolveReport>(module, "SolveReport", R"(How a solve ended; ``str()`` gives one line.)")
      .def_prop_ro(
          "reason", [](const SolveReport& self) { return to_string(self.reason); },
          "Why it ended: \"converged\", \"max_iterations\", \"breakdown\", \"indefinite_matrix\", "
          "\"indefinite_preconditioner\", \"nan_or_inf\", \"stagnation\", \"time_limit\", \"user_stop\" or "
          "\"singular_block\".")
      .def_prop_ro("converged", &SolveReport::converged, "Whether the reason is \"converged\".")
      .def_ro("iterations", &SolveReport::iterations, "Iterations; of GMRES inner ones.")
      .def_ro("rhs_norm", &SolveReport::rhs_norm, ":math:`\\|b\\|`")
      .def_ro("initial_residual", &SolveReport::initial_residual, ":math:`\\|b - A x_0\\|`")
      .def_ro("recurrence_residual", &SolveReport::recurrence_residual, ":math:`\\|r\\|` as the recurrence has it.")
      .def_ro("true_residual", &SolveReport::true_residual,
              ":math:`\\|b - A x\\|`, recomputed at the end, of a matrix with sums in float64 whatever its dtype.")
      .def_prop_ro("relative_residual", &SolveReport::relative_residual, ":math:`\\|b - A x\\| / \\|b\\|`")
      .def_prop_ro("residual_gap", &SolveReport::residual_gap,
                   "How far rounding has driven the recurrence from the residual, relative to :math:`\\|b\\|`.")
      .def_ro("seconds", &SolveReport::seconds, "Wall time.")
      .def_prop_ro(
          "history", [](const SolveReport& self) { return to_numpy(self.history); }, nb::rv_policy::automatic,
          "Norm of the residual before and after each iteration: float64.")
      .def(
          "to_dict",
          [](const SolveReport& self) {
            nb::typed<nb::dict, nb::str, nb::object> all;
            all["reason"] = to_string(self.reason);
            all["iterations"] = self.iterations;
            all["rhs_norm"] = self.rhs_norm;
            all["initial_residual"] = self.initial_residual;
            all["recurrence_residual"] = self.recurrence_residual;
            all["true_residual"] = self.true_residual;
            all["relative_residual"] = self.relative_residual();
            all["residual_gap"] = self.residual_gap();
            all["seconds"] = self.seconds;
            all["history"] = self.history;
            return all;
          },
          "Everything, the history as a list.")
      .def("__str__", [](const SolveReport& self) { return to_text(self); })
      .def("__repr__", [](const SolveReport& self) { return "<blockjacobi.SolveReport: " + to_text(self) + ">"; });
}

void bind_coarse_level(nb::module_& module) {
  nb::class_<TwoLevelReport>(module, "TwoLevelReport",
                             "What the set-up of a :class:`TwoLevel` found; ``str()`` gives one or two lines.")
      .def_prop_ro(
          "mode", [](const TwoLevelReport& self) { return to_string(self.mode); },
          "How blocks and coarse level are joined.")
      .def_ro("rows", &TwoLevelReport::rows, "Rows of the matrix.")
      .def_ro("aggregates", &TwoLevelReport::aggregates, "How many unions of blocks the vectors live on.")
      .def_ro("size", &TwoLevelReport::size, "Order of the coarse matrix.")
      .def_ro("uncovered_rows", &TwoLevelReport::uncovered_rows,
              "Rows of blocks that no entry couples with others, to which the coarse level does nothing.")
      .def_ro("bytes", &TwoLevelReport::bytes, "In the backend's memory, beside blocks and matrix.")
      .def_ro("is_singular", &TwoLevelReport::is_singular,
              "The coarse matrix is singular: its pseudo-inverse is there, or the inverse of another one near it.")
      .def_ro("is_finite", &TwoLevelReport::is_finite,
              "The coarse matrix is without NaN and Inf; else its diagonal or zero is there.")
      .def_ro("rcond", &TwoLevelReport::rcond, "Reciprocal condition of the equilibrated coarse matrix.")
      .def("__str__", [](const TwoLevelReport& self) { return to_text(self); })
      .def("__repr__", [](const TwoLevelReport& self) {
        return "<blockjacobi.TwoLevelReport: " + std::to_string(self.size) + " vectors on " +
               std::to_string(self.aggregates) + " aggregates of " + std::to_string(self.rows) + " rows>";
      });
}

void bind_multigrid(nb::module_& module) {
  nb::class_<MultigridLevel>(module, "MultigridLevel", "One matrix of the hierarchy of a :class:`Multigrid`.")
      .def_ro("rows", &MultigridLevel::rows, "Rows of the matrix.")
      .def_ro("nnz", &MultigridLevel::nnz, "Its stored entries.")
      .def_ro("relaxation", &MultigridLevel::relaxation,
              "4/3 over what was found for the largest eigenvalue of :math:`M^{-1} A`; 0 for the coarsest level.")
      .def("__repr__", [](const MultigridLevel& self) {
        return "<blockjacobi.MultigridLevel: " + std::to_string(self.rows) + " rows, " + std::to_string(self.nnz) +
               " entries>";
      });

  nb::class_<MultigridReport>(module, "MultigridReport",
                              "What the set-up of a :class:`Multigrid` found; ``str()`` gives a line for each level.")
      .def_ro("levels", &MultigridReport::levels, "A :class:`MultigridLevel` for each level, that of A first.")
      .def_ro("bytes", &MultigridReport::bytes, "In the backend's memory, beside blocks and matrix.")
      .def_ro("is_singular", &MultigridReport::is_singular, "A coarse matrix is singular: its pseudo-inverse is there.")
      .def_ro("is_finite", &MultigridReport::is_finite,
              "No matrix below the first has NaN or Inf; else its diagonal is where inverses were.")
      .def_ro("rcond", &MultigridReport::rcond, "Reciprocal condition of the equilibrated coarsest matrix.")
      .def("__str__", [](const MultigridReport& self) { return to_text(self); })
      .def("__repr__", [](const MultigridReport& self) {
        return "<blockjacobi.MultigridReport: " + std::to_string(self.levels.size()) + " levels, " +
               std::to_string(self.levels.front().rows) + " rows>";
      });
}

void bind_suggestion(nb::module_& module) {
  nb::class_<BlockCandidate>(module, "BlockCandidate",
                             "One way to choose the blocks, and what it is predicted to cost.")
      .def_ro("name", &BlockCandidate::name, "\"scalar\", \"detect 32\", ...")
      .def_prop_ro(
          "blocks",
          [](const BlockCandidate& self) {
            if (self.permutation.is_identity()) return PythonPartition{self.blocks, {}};
            return PythonPartition{self.blocks, self.permutation};
          },
          "The blocks.")
      .def_prop_ro(
          "coarse",
          [](const BlockCandidate& self) -> nb::object {
            if (!self.coarse) return nb::none();
            nb::dict level;
            level["mode"] = self.coarse->mode ? to_string(*self.coarse->mode) : "automatic";
            level["size"] = self.coarse->size;
            level["relaxed"] = self.coarse->relaxed;
            return level;
          },
          nb::for_getter(nb::sig("def coarse(self) -> dict[str, str | int] | None")),
          "``mode``, ``size`` and ``relaxed`` of a :class:`TwoLevel` on these blocks; None without a coarse level. "
          ":func:`preconditioner` makes it.")
      .def_prop_ro(
          "multigrid",
          [](const BlockCandidate& self) -> nb::object {
            if (!self.multigrid) return nb::none();
            nb::dict options;
            options["coarsest"] = self.multigrid->coarsest;
            options["relaxed"] = self.multigrid->relaxed;
            return options;
          },
          nb::for_getter(nb::sig("def multigrid(self) -> dict[str, int] | None")),
          "``coarsest`` and ``relaxed`` of a :class:`Multigrid` on these blocks; None without one. "
          ":func:`preconditioner` makes it.")
      .def_ro("captured", &BlockCandidate::captured, "The weight of the matrix that lies inside the blocks, 0 to 1.")
      .def_ro("bytes", &BlockCandidate::bytes, "Of the inverses.")
      .def_ro("setup_seconds", &BlockCandidate::setup_seconds, "Predicted.")
      .def_ro("iteration_seconds", &BlockCandidate::iteration_seconds, "Predicted.")
      .def_ro("probed", &BlockCandidate::probed, "Whether the solver itself was tried.")
      .def_ro("failed", &BlockCandidate::failed, "Whether a probe of these blocks broke down.")
      .def_ro("probe_iterations", &BlockCandidate::probe_iterations, "Iterations of the probe.")
      .def_ro("probe_reduction", &BlockCandidate::probe_reduction, "Smallest relative residual of the probe.")
      .def_ro("iterations", &BlockCandidate::iterations, "Predicted; infinity if a probe failed.")
      .def_ro("seconds", &BlockCandidate::seconds, "Predicted, set-up and all iterations.")
      .def("__repr__", [](const BlockCandidate& self) { return "<blockjacobi.BlockCandidate: " + self.name + ">"; });

  nb::class_<Suggestion>(module, "Suggestion", "What :func:`suggest` found; ``str()`` gives a table and a sentence.")
      .def_ro("candidates", &Suggestion::candidates, "All that were compared; \"scalar\" is the first.")
      .def_ro("recommended", &Suggestion::recommended, "Number of the one to take.")
      .def_prop_ro("best", &Suggestion::best, nb::rv_policy::copy, "The one to take.")
      .def_prop_ro("blocks_pay", &Suggestion::blocks_pay, "False where scalar Jacobi is predicted to be the fastest.")
      .def_ro("probe_seconds", &Suggestion::probe_seconds, "Wall time of the probes.")
      .def_ro("non_finite", &Suggestion::non_finite,
              "Row and column of the first entry that is NaN or Inf, if one was found; no choice was weighed then.")
      .def(
          "to_dict",
          [](const Suggestion& self) {
            return nb::typed<nb::dict, nb::str, nb::object>(nb::cast<nb::dict>(parsed(to_json(self))));
          },
          "Everything; infinity is None.")
      .def("__str__", [](const Suggestion& self) { return to_text(self); })
      .def("__repr__", [](const Suggestion& self) {
        return "<blockjacobi.Suggestion: " + self.best().name + " of " + std::to_string(self.candidates.size()) + ">";
      });
}

}  // namespace

void bind_reports(nb::module_& module) {
  bind_setup(module);
  bind_coarse_level(module);
  bind_multigrid(module);
  bind_solve(module);
  bind_suggestion(module);
}

}  // namespace blockjacobi::python
