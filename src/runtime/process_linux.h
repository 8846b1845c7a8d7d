#pragma once
#include "runtime/process_runner.h"
