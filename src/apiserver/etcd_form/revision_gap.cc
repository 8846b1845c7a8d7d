#include "apiserver/etcd_form/revision_gap.h"

#include <string_view>

namespace porthole::apiserver {
namespace {

/// A place in a JSON text. Moves over whole values without a look inside; where the text is no JSON, it says so or ends at some place
/// within the text.
class JsonCursor {
public:
    explicit JsonCursor(std::string_view text) : text_(text) {}

    std::size_t at() const { return at_; }
    /// Goes on behind `c`, which must come next.
    bool take(char c) {
        skip_space();
        if (at_ >= text_.size() || text_[at_] != c) return false;
        ++at_;
        return true;
    }
    /// Goes to the value of the member `name` of the object that comes next; duplicates are not looked for.
    bool enter(std::string_view name) {
        if (!take('{')) return false;
        for (;;) {
            skip_space();
            const std::size_t begin = at_;
            if (!skip_string()) return false;
            const std::string_view key = text_.substr(begin + 1, at_ - begin - 2);
            if (!take(':')) return false;
            skip_space();
            if (key == name) return true;
            skip_value();
            if (!take(',')) return false;
        }
    }
    bool skip_string() {
        if (!take('"')) return false;
        for (; at_ < text_.size(); ++at_) {
            if (text_[at_] == '\\') {
                ++at_;
            } else if (text_[at_] == '"') {
                ++at_;
                return true;
            }
        }
        at_ = text_.size();
        return false;
    }

private:
    void skip_space() {
        while (at_ < text_.size() && std::string_view(" \t\r\n").find(text_[at_]) != std::string_view::npos) ++at_;
    }
    /// To the comma or bracket behind it.
    void skip_value() {
        for (std::size_t depth = 0; at_ < text_.size();) {
            const char c = text_[at_];
            if (c == '"') {
                if (!skip_string()) return;
                continue;
            }
            const bool closes = c == '}' || c == ']';
            if (depth == 0 && (closes || c == ',')) return;
            if (c == '{' || c == '[') ++depth;
            if (closes) --depth;
            ++at_;
        }
    }

    std::string_view text_;
    std::size_t at_ = 0;
};

constexpr std::string_view Member = "\"resourceVersion\":\"\"";

}  // namespace

std::optional<std::uint32_t> open_revision_gap(std::string& json) {
    JsonCursor metadata(json);
    if (!metadata.enter("metadata")) return std::nullopt;
    JsonCursor inside = metadata;
    if (!inside.take('{')) return std::nullopt;
    JsonCursor value = metadata;
    if (value.enter("resourceVersion")) {
        const std::size_t begin = value.at() + 1;
        if (!value.skip_string()) return std::nullopt;
        json.erase(begin, value.at() - 1 - begin);
        return static_cast<std::uint32_t>(begin);
    }
    const std::size_t begin = inside.at();
    const bool empty = inside.take('}');
    json.insert(begin, empty ? Member : std::string(Member) + ",");
    return static_cast<std::uint32_t>(begin + Member.size() - 1);
}

}  // namespace porthole::apiserver
