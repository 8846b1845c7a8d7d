#pragma once
#include <cstddef>
#include <string>
#include <string_view>

#include "windows/lint/check.h"

namespace porthole::windows::lint {

/// A text after --fix.
struct Fixed {
    std::string text;
    std::size_t edits = 0;  ///< made
    Checked left;           ///< what is in the text now
};

/// Makes every edit that is certain. Nothing but what the edits are meant to change differs afterwards, comments and order included;
/// fixing the result again changes nothing. Errors: those of parse().
Result<Fixed> fix(std::string_view text, const Options& options = {});

}  // namespace porthole::windows::lint
