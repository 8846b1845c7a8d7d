#pragma once
#include <cstddef>
#include <map>
#include <string>
#include <string_view>

#include "base/regex.h"
#include "base/result.h"

namespace porthole::schema {

/// The regular expressions of a definition's schemas, each compiled once: definitions repeat a few patterns many times. A short pattern can
/// become a long program, so what all of them become together is bounded.
class SchemaPatterns {
public:
    /// Instructions of 16 bytes.
    static constexpr std::size_t MostInstructions = 1'000'000;

    /// Errors: BadRequest for what is not a regular expression; Invalid, at once, when all together have become too large.
    Result<Regex> compile(std::string_view pattern);

private:
    std::map<std::string, Regex, std::less<>> known_;
    std::size_t left_ = MostInstructions;
};

}  // namespace porthole::schema
