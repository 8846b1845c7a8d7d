#? ./run test fast
#?     unit tests that take seconds

test_fast() { test_units dev fast; }
