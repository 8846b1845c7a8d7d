#pragma once
#include <cstddef>
#include <functional>
#include <optional>
#include <string>

namespace porthole::cmd::self_check {

/// What a pipe has to read: "" if there is nothing at the moment, nullopt at its end.
using ReadPiece = std::function<std::optional<std::string>()>;

enum class Shown { More, Ended, TooMuch };  ///< there may be more; nothing comes any more; more than anyone waits for

/// Adds what `read` has at the moment to `text`, which has at most `limit` bytes afterwards. A program that shows without end does not keep
/// the reader, nor take its memory.
Shown read_shown(const ReadPiece& read, std::string& text, std::size_t limit = 1 << 20);

}  // namespace porthole::cmd::self_check
