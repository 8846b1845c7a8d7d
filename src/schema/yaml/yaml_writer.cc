#include <algorithm>

#include "schema/json/json.h"
#include "schema/yaml/yaml.h"
#include "schema/yaml/yaml_scalar.h"

namespace porthole::schema {
namespace {

bool is_plain(std::string_view text) {
    if (text.empty() || !resolve_yaml_scalar(text).is_string()) return false;
    if (std::string_view(" -?:,[]{}#&*!|>'\"%@`.=<").find(text[0]) != std::string_view::npos) return false;
    if (text.back() == ' ' || text.back() == ':') return false;
    if (text.find(": ") != std::string_view::npos || text.find(" #") != std::string_view::npos) return false;
    // Looks of a time or a number may mean more to other readers than to ours.
    const bool wordy =
        std::any_of(text.begin(), text.end(), [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c & 0x80); });
    const bool control = std::any_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; });
    return !control && (wordy || !(text[0] >= '0' && text[0] <= '9')) && text[0] != '+' &&
           !(text[0] >= '0' && text[0] <= '9' && text.find(':') != std::string_view::npos);
}

/// Several lines that a literal block (`|`) can carry unchanged.
bool is_block(std::string_view text) {
    if (text.find('\n') == std::string_view::npos || text.front() == ' ' || text.front() == '\n' || text.front() == '\t') return false;
    if (text.find(" \n") != std::string_view::npos) return false;
    return std::none_of(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) < 0x20 && c != '\n') || c == 0x7f; });
}

class YamlWriter {
public:
    std::string write(const Value& value) {
        if (is_container(value))
            block(value, 0, false);
        else
            scalar(value, 0);
        if (out_.empty() || out_.back() != '\n') out_ += '\n';
        return std::move(out_);
    }

private:
    static bool is_container(const Value& value) {
        return (value.is_object() && !value.as_object().empty()) || (value.is_array() && !value.as_array().empty());
    }

    void indent(int level) { out_.append(static_cast<std::size_t>(level) * 2, ' '); }

    /// `inside`: the first line continues the line of a list's dash.
    void block(const Value& value, int level, bool inside) {
        if (value.is_object()) {
            for (const Member& entry : value.as_object()) {
                if (!std::exchange(inside, false)) indent(level);
                text(entry.key, level);
                out_ += ':';
                // Lists stand at the level of their key, as kubectl writes them.
                below(entry.value, entry.value.is_array() ? level : level + 1);
            }
        } else {
            for (const Value& item : value.as_array()) {
                if (!std::exchange(inside, false)) indent(level);
                out_ += '-';
                if (is_container(item)) {
                    out_ += ' ';
                    block(item, level + 1, true);
                } else {
                    below(item, level + 1);
                }
            }
        }
    }

    void below(const Value& value, int level) {
        if (is_container(value)) {
            out_ += '\n';
            return block(value, level, false);
        }
        out_ += ' ';
        scalar(value, level);
        if (out_.back() != '\n') out_ += '\n';
    }

    void scalar(const Value& value, int level) {
        if (value.is_string()) return string(value.as_string(), level);
        append_json(value, out_);
    }

    void string(const std::string& value, int level) {
        if (!is_block(value)) return text(value, level);
        const bool ends = value.back() == '\n';
        const bool more = ends && value.size() > 1 && value[value.size() - 2] == '\n';
        out_ += ends ? more ? "|+\n" : "|\n" : "|-\n";
        std::size_t start = 0;
        while (start < value.size()) {
            const std::size_t end = std::min(value.find('\n', start), value.size());
            if (end > start) indent(std::max(level, 1));
            out_.append(value, start, end - start);
            out_ += '\n';
            start = end + 1;
        }
    }

    void text(const std::string& value, int) {
        if (is_plain(value))
            out_ += value;
        else
            append_json_string(value, out_);  // JSON's strings are YAML's
    }

    std::string out_;
};

}  // namespace

std::string to_yaml(const Value& value) { return YamlWriter().write(value); }

}  // namespace porthole::schema
