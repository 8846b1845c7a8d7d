#pragma once
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace porthole::winhost {

/// Lets a DLL of 64 bits answer for `names` with the functions that `target` (a DLL, named without ".dll") exports under the same names.
/// What it has under such a name itself is then exported as "wine_NAME". Wine's loader loads `target` once a program asks for one of them.
///
/// The table of exports moves to a section of its own at the end of the file. Ordinals stay; new names get ordinals behind them.
/// Error: Invalid for a file that contradicts itself, has no exports, or has no room for the header of a section, as one of
/// strip_debug_sections has.
Result<std::string> forward_exports(std::string image, std::span<const std::string_view> names, std::string_view target);

}  // namespace porthole::winhost
