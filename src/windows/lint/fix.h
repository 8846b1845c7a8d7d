#pragma once
#include <cstddef>
#include <string>
#include <string_view>

#include "windows/lint/check.h"

namespace porthole::windows::lint {

/// A text after --fix.
struct Fixed {
    std::string text;
    std::size_t edits = 0;  ///< number of edits made
    Checked left;           ///< problems of the resulting text
};

/// Makes every edit that is certain. Nothing else differs afterwards, including comments and order; fixing the result again changes
/// nothing. Errors: those of parse().
Result<Fixed> fix(std::string_view text, const Options& options = {});

}  // namespace porthole::windows::lint
