#pragma once
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace porthole::kubelet {

/// Looks a variable up; nullopt leaves its reference as it stands.
using Lookup = std::function<std::optional<std::string>(std::string_view name)>;

/// Replaces `$(NAME)` in commands, arguments and environment values: `$$` is a literal `$`, so `$$(NAME)` stays `$(NAME)`.
std::string expand(std::string_view text, const Lookup& lookup);

}  // namespace porthole::kubelet
