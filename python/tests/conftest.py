import pytest
from systems import DTYPES


@pytest.fixture(params=DTYPES)
def dtype(request):
    return request.param
