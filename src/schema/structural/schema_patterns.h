#pragma once
#include <cstddef>
#include <map>
#include <string>
#include <string_view>

#include "base/regex.h"
#include "base/result.h"

namespace porthole::schema {

/// The regular expressions of a definition's schemas, each compiled once: definitions repeat a few patterns many times. A short pattern can
/// become a long program, so their total size is limited.
class SchemaPatterns {
public:
    /// Instructions of 16 bytes.
    static constexpr std::size_t MostInstructions = 1'000'000;

    /// Errors: BadRequest for an invalid regular expression; Invalid, immediately, once their total has become too large.
    Result<Regex> compile(std::string_view pattern);

private:
    std::map<std::string, Regex, std::less<>> known_;
    std::size_t left_ = MostInstructions;
};

}  // namespace porthole::schema
