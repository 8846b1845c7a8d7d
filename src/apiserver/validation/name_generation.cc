#include "apiserver/validation/name_generation.h"

namespace porthole::apiserver {

std::string generated_name(std::string_view prefix, Random& random) {
    constexpr std::size_t SuffixLength = 5;
    constexpr std::size_t NameLimit = 63;
    // Neither vowels nor characters that are easily taken for one another.
    constexpr std::string_view Alphabet = "bcdfghjklmnpqrstvwxz2456789";
    return std::string(prefix.substr(0, NameLimit - SuffixLength)) + random.pick(SuffixLength, Alphabet);
}

}  // namespace porthole::apiserver
