// Evaluates one JSON request a line, for comparison with other implementations; see README.md.
#include <iostream>

#include "cel/environment.h"
#include "schema/json/json.h"

int main() { return 0; }
