#include "client/json_slices.h"

#include <array>
#include <string>

namespace porthole::client {
namespace {

Error malformed(const char* what) { return Error(Reason::BadRequest, std::string("malformed JSON: ") + what); }

/// What skipping over a value looks at; most characters are none of these.
constexpr std::array<bool, 256> IsNesting = [] {
    std::array<bool, 256> table{};
    for (const unsigned char c : std::string_view("\"{}[]")) table[c] = true;
    return table;
}();

class Slicer {
public:
    explicit Slicer(std::string_view text) : text_(text) {}

    bool take(char c) {
        skip_space();
        if (at_end() || text_[position_] != c) return false;
        ++position_;
        return true;
    }
    bool at_end() const { return position_ >= text_.size(); }

    Result<std::string_view> value() {
        skip_space();
        const std::size_t start = position_;
        if (at_end()) return malformed("unexpected end");
        const char first = text_[position_];
        if (first == '"') {
            TRY_VOID(skip_string());
        } else if (first == '{' || first == '[') {
            TRY_VOID(skip_nested());
        } else {
            position_ = std::min(text_.find_first_of(",]} \t\r\n", position_), text_.size());
            if (position_ == start) return malformed("a value is missing");
        }
        return text_.substr(start, position_ - start);
    }

private:
    void skip_space() { position_ = std::min(text_.find_first_not_of(" \t\r\n", position_), text_.size()); }

    Result<void> skip_string() {
        for (const std::size_t start = ++position_;; ++position_) {
            position_ = text_.find('"', position_);
            if (position_ == text_.npos) return malformed("unterminated string");
            std::size_t backslashes = 0;
            while (position_ - backslashes > start && text_[position_ - backslashes - 1] == '\\') ++backslashes;
            if (backslashes % 2 == 0) break;
        }
        ++position_;
        return {};
    }
    Result<void> skip_nested() {
        std::size_t depth = 0;
        for (;;) {
            while (!at_end() && !IsNesting[static_cast<unsigned char>(text_[position_])]) ++position_;
            if (at_end()) return malformed("unterminated object or array");
            const char c = text_[position_];
            if (c == '"') {
                TRY_VOID(skip_string());
                continue;
            }
            ++position_;
            if (c == '{' || c == '[')
                ++depth;
            else if (--depth == 0)
                return {};
        }
    }

    std::string_view text_;
    std::size_t position_ = 0;
};

}  // namespace

Result<std::vector<std::pair<std::string_view, std::string_view>>> json_members(std::string_view json) {
    Slicer slicer(json);
    std::vector<std::pair<std::string_view, std::string_view>> members;
    if (!slicer.take('{')) return malformed("an object is expected");
    if (slicer.take('}')) return members;
    do {
        TRY(const std::string_view key, slicer.value());
        if (!slicer.take(':')) return malformed("a colon is missing");
        TRY(const std::string_view value, slicer.value());
        members.emplace_back(json_plain_string(key), value);
    } while (slicer.take(','));
    if (!slicer.take('}')) return malformed("unterminated object");
    return members;
}

Result<std::vector<std::string_view>> json_elements(std::string_view json) {
    Slicer slicer(json);
    std::vector<std::string_view> elements;
    if (!slicer.take('[')) return malformed("an array is expected");
    if (slicer.take(']')) return elements;
    do {
        TRY(const std::string_view value, slicer.value());
        elements.push_back(value);
    } while (slicer.take(','));
    if (!slicer.take(']')) return malformed("unterminated array");
    return elements;
}

Result<std::string_view> json_member(std::string_view json, std::string_view key) {
    Slicer slicer(json);
    if (!slicer.take('{')) return malformed("an object is expected");
    if (slicer.take('}')) return std::string_view();
    do {
        TRY(const std::string_view name, slicer.value());
        if (!slicer.take(':')) return malformed("a colon is missing");
        TRY(const std::string_view value, slicer.value());
        if (json_plain_string(name) == key) return value;
    } while (slicer.take(','));
    if (!slicer.take('}')) return malformed("unterminated object");
    return std::string_view();
}

std::string_view without_managed_fields(std::string_view object, std::string& room) {
    constexpr std::string_view Metadata = "\"metadata\":", Key = "\"managedFields\":";
    const std::size_t brace = object.find('{', 1);
    if (brace == object.npos || !object.substr(0, brace).ends_with(Metadata) || object[brace - Metadata.size() - 1] == '\\') return object;
    const auto fields = json_member(object.substr(brace), "managedFields");
    if (!fields || fields->empty()) return object;
    const auto value = static_cast<std::size_t>(fields->data() - object.data());
    std::size_t begin = value - Key.size(), end = value + fields->size();
    if (object.substr(begin, Key.size()) != Key || end == object.size()) return object;
    if (object[begin - 1] == ',')
        --begin;
    else if (object[begin - 1] != '{')
        return object;
    else if (object[end] == ',')
        ++end;
    else if (object[end] != '}')
        return object;
    room.assign(object.substr(0, begin)).append(object.substr(end));
    return room;
}

std::string_view json_plain_string(std::string_view slice) {
    if (slice.size() < 2 || slice.front() != '"') return {};
    return slice.substr(1, slice.size() - 2);
}

}  // namespace porthole::client
