#include "cmd/self_check/shown_output.h"

namespace porthole::cmd::self_check {

Shown read_shown(const ReadPiece& read, std::string& text, std::size_t limit) {
    while (text.size() < limit) {
        const auto piece = read();
        if (!piece) return Shown::Ended;
        if (piece->empty()) return Shown::More;
        text.append(*piece, 0, limit - text.size());
    }
    return Shown::TooMuch;
}

}  // namespace porthole::cmd::self_check
