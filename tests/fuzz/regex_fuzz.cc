// Regular expressions: no pattern crashes, or takes more than linear time. The first line is the pattern.
#include <cstdint>

#include "base/regex.h"

using namespace porthole;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view input(reinterpret_cast<const char*>(data), size);
    const std::size_t line = input.find('\n');
    const auto regex = Regex::compile(input.substr(0, line));
    if (regex && line != std::string_view::npos) (void)regex->search(input.substr(line + 1));
    return 0;
}
