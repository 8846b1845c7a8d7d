#pragma once
// Precompiled once for each build and read before every C++ source of it: the headers of the standard library and of fmt that
// most sources include. It saves time only: every file still includes what it uses, and the preset `lint` compiles without it.
#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <coroutine>
#include <cstdint>
#include <deque>
#include <expected>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>
