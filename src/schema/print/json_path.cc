#include "schema/print/json_path.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "base/strings.h"
#include "schema/json/json.h"

namespace porthole::schema {
namespace {

using Nodes = std::vector<const Value*>;

/// Reads one path, step by step.
class PathReader {
public:
    explicit PathReader(std::string_view text) : text_(text) {
        if (text_.starts_with('{') && text_.ends_with('}')) text_ = text_.substr(1, text_.size() - 2);
        if (text_.starts_with('$')) text_.remove_prefix(1);
    }
    bool done() const { return text_.empty(); }

    /// The nodes one step below; nullopt when the path is malformed.
    std::optional<Nodes> step(const Nodes& nodes) {
        if (text_.starts_with('[')) return bracket(nodes);
        if (text_.starts_with('.')) text_.remove_prefix(1);
        if (text_.empty() || text_.starts_with('[')) return nodes;
        return members(nodes, name());
    }

private:
    static Nodes members(const Nodes& nodes, std::string_view key) {
        Nodes found;
        for (const Value* node : nodes) {
            if (key == "*")
                append_children(*node, found);
            else if (const Value* member = node->find(key))
                found.push_back(member);
        }
        return found;
    }
    static void append_children(const Value& node, Nodes& found) {
        if (node.is_array())
            for (const Value& item : node.as_array()) found.push_back(&item);
        if (node.is_object())
            for (const Member& member : node.as_object()) found.push_back(&member.value);
    }

    /// Up to the next dot or bracket; a backslash takes a dot for itself.
    std::string name() {
        std::string name;
        while (!text_.empty() && text_[0] != '.' && text_[0] != '[') {
            if (text_[0] == '\\' && text_.size() > 1) text_.remove_prefix(1);
            name += text_[0];
            text_.remove_prefix(1);
        }
        return name;
    }

    std::optional<Nodes> bracket(const Nodes& nodes) {
        std::size_t end = 1;
        char quote = 0;
        for (; end < text_.size() && (quote || text_[end] != ']'); ++end) {
            const char c = text_[end];
            if (quote)
                quote = c == quote ? 0 : quote;
            else if (c == '"' || c == '\'')
                quote = c;
        }
        if (end >= text_.size()) return std::nullopt;
        const std::string_view inside = text_.substr(1, end - 1);
        text_.remove_prefix(end + 1);
        if (inside.starts_with("?(") && inside.ends_with(')')) return filtered(nodes, inside.substr(2, inside.size() - 3));
        if (inside == "*") return members(nodes, "*");
        if (inside.size() >= 2 && (inside[0] == '\'' || inside[0] == '"')) return members(nodes, inside.substr(1, inside.size() - 2));
        return indexed(nodes, inside);
    }

    static std::optional<Nodes> indexed(const Nodes& nodes, std::string_view text) {
        std::ptrdiff_t index = 0;
        if (std::from_chars(text.data(), text.data() + text.size(), index).ptr != text.data() + text.size()) return std::nullopt;
        Nodes found;
        for (const Value* node : nodes) {
            if (!node->is_array()) continue;
            const Array& array = node->as_array();
            const std::ptrdiff_t place = index < 0 ? index + std::ssize(array) : index;
            if (place >= 0 && place < std::ssize(array)) found.push_back(&array[static_cast<std::size_t>(place)]);
        }
        return found;
    }

    /// `@.type=="Ready"`, `@.port > 80` or `@.optional`.
    static std::optional<Nodes> filtered(const Nodes& nodes, std::string_view condition) {
        static constexpr std::string_view operators[] = {"==", "!=", "<=", ">=", "<", ">"};
        std::string_view path = condition, op;
        Value operand;
        for (const std::string_view candidate : operators) {
            const std::size_t at = condition.find(candidate);
            if (at == condition.npos) continue;
            op = candidate;
            path = condition.substr(0, at);
            const auto parsed = literal(trim(condition.substr(at + candidate.size()), " "));
            if (!parsed) return std::nullopt;
            operand = *parsed;
            break;
        }
        path = trim(path, " ");
        if (!path.starts_with('@')) return std::nullopt;
        Nodes found;
        for (const Value* node : nodes) {
            Nodes items;
            append_children(*node, items);
            for (const Value* item : items) {
                const Nodes left = select_path(*item, path.substr(1));
                if (!left.empty() && (op.empty() || compares(*left[0], op, operand))) found.push_back(item);
            }
        }
        return found;
    }

    static std::optional<Value> literal(std::string_view text) {
        if (text.size() >= 2 && text.front() == '\'' && text.back() == '\'') return Value(text.substr(1, text.size() - 2));
        auto parsed = parse_json(text);
        if (!parsed) return std::nullopt;
        return std::move(*parsed);
    }
    static bool compares(const Value& left, std::string_view op, const Value& right) {
        if (op == "==") return left == right;
        if (op == "!=") return !(left == right);
        if (!left.is_number() || !right.is_number()) return false;
        const double a = left.as_double(), b = right.as_double();
        if (op == "<") return a < b;
        if (op == ">") return a > b;
        return op == "<=" ? a <= b : a >= b;
    }

    std::string_view text_;
};

}  // namespace

std::vector<const Value*> select_path(const Value& root, std::string_view path) {
    Nodes nodes{&root};
    PathReader reader(path);
    while (!reader.done() && !nodes.empty()) {
        auto next = reader.step(nodes);
        if (!next) return {};
        nodes = std::move(*next);
    }
    return nodes;
}

const Value& first_at(const Value& root, std::string_view path) {
    const std::vector<const Value*> found = select_path(root, path);
    return found.empty() ? null_value() : *found[0];
}

}  // namespace porthole::schema
