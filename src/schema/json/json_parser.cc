// Holds Boost.JSON's code; its push parser feeds our tree.
#include <boost/json/src.hpp>

#include <fmt/format.h>
#include <boost/json/basic_parser_impl.hpp>

#include <charconv>
#include <cmath>

#include "schema/findings.h"
#include "schema/json/json.h"
#include "schema/json/json_errors.h"

namespace porthole::schema {
namespace {

namespace json = boost::json;

/// Builds the tree from the parser's events. Containers under construction are on a stack with the key they will get.
class TreeBuilder {
public:
    static constexpr std::size_t max_object_size = static_cast<std::size_t>(-1);
    static constexpr std::size_t max_array_size = static_cast<std::size_t>(-1);
    static constexpr std::size_t max_key_size = static_cast<std::size_t>(-1);
    static constexpr std::size_t max_string_size = static_cast<std::size_t>(-1);

    explicit TreeBuilder(std::vector<std::string>* duplicates) : duplicates_(duplicates) {}

    Value take() { return std::move(root_); }

    bool on_document_begin(json::error_code&) { return true; }
    bool on_document_end(json::error_code&) { return true; }
    bool on_object_begin(json::error_code&) { return open(Object()); }
    bool on_object_end(std::size_t, json::error_code&) { return close(); }
    bool on_array_begin(json::error_code&) { return open(Array()); }
    bool on_array_end(std::size_t, json::error_code&) { return close(); }
    bool on_key_part(json::string_view part, std::size_t, json::error_code&) { return buffer(part); }
    bool on_key(json::string_view part, std::size_t, json::error_code&) {
        buffer(part);
        stack_.back().key = std::exchange(text_, {});
        return true;
    }
    bool on_string_part(json::string_view part, std::size_t, json::error_code&) { return buffer(part); }
    bool on_string(json::string_view part, std::size_t, json::error_code&) {
        buffer(part);
        return add(std::exchange(text_, {}));
    }
    bool on_number_part(json::string_view part, json::error_code&) { return buffer(part); }
    bool on_int64(std::int64_t number, json::string_view, json::error_code&) {
        text_.clear();
        return add(number);
    }
    bool on_uint64(std::uint64_t number, json::string_view, json::error_code&) {
        text_.clear();
        if (number <= INT64_MAX) return add(static_cast<std::int64_t>(number));
        return add(static_cast<double>(number));
    }
    /// The parser's own number is off in the last digits, so the text is read again.
    bool on_double(double approximate, json::string_view part, json::error_code& code) {
        buffer(part);
        double number = approximate;
        std::from_chars(text_.data(), text_.data() + text_.size(), number);
        text_.clear();
        if (std::isfinite(number)) return add(number);
        code = json::error::exponent_overflow;
        return false;
    }
    bool on_bool(bool value, json::error_code&) { return add(value); }
    bool on_null(json::error_code&) { return add(Value()); }
    bool on_comment_part(json::string_view, json::error_code&) { return true; }
    bool on_comment(json::string_view, json::error_code&) { return true; }

private:
    /// Values are built where they will stay: a container grows only while none of its elements is being built.
    struct Level {
        Value* container;
        std::string key;  // of the member being read
    };

    bool buffer(json::string_view part) {
        text_.append(part.data(), part.size());
        return true;
    }

    template <class Container>
    bool open(Container container) {
        stack_.push_back({&place(std::move(container)), {}});
        return true;
    }

    bool close() {
        stack_.pop_back();
        return true;
    }

    bool add(Value value) {
        place(std::move(value));
        return true;
    }

    /// Puts the value where it belongs.
    Value& place(Value value) {
        if (stack_.empty()) return root_ = std::move(value);
        Level& level = stack_.back();
        if (level.container->is_array()) return level.container->as_array().emplace_back(std::move(value));
        Object& object = level.container->as_object();
        Value* earlier = object.find(level.key);
        if (!earlier && duplicates_) return object.append(level.key, std::move(value));  // paths need the key
        if (!earlier) return object.append(std::move(level.key), std::move(value));
        if (duplicates_) add_finding(*duplicates_, [this] { return path(); });
        return *earlier = std::move(value);
    }

    /// "spec.containers[0].name": of the member being added.
    std::string path() const {
        std::string result;
        for (const Level& level : stack_) {
            if (level.container->is_array()) {
                result += fmt::format("[{}]", level.container->as_array().size() - 1);
            } else {
                if (!result.empty()) result += '.';
                result += level.key;
            }
        }
        return result;
    }

    std::vector<std::string>* duplicates_;
    std::vector<Level> stack_;
    std::string text_;
    Value root_;
};

Result<Value> parse(std::string_view text, std::vector<std::string>* duplicates, JsonLimits limits) {
    json::parse_options options;
    options.max_depth = limits.depth;
    json::basic_parser<TreeBuilder> parser(options, duplicates);
    json::error_code code;
    const std::size_t used = parser.write_some(false, text.data(), text.size(), code);
    if (code) return json_syntax_error(text, used, code);
    TRY_VOID(check_nothing_follows(text, used));
    return parser.handler().take();
}

}  // namespace

Error json_syntax_error(std::string_view text, std::size_t at, json::error_code code) {
    if (code == json::error::incomplete || text.empty()) return Error(Reason::BadRequest, "unexpected end of JSON input");
    if (code == json::error::too_deep) return Error(Reason::BadRequest, "json: exceeded max depth");
    if (at < text.size() && static_cast<unsigned char>(text[at]) < 0x80 && code == json::error::syntax) {
        return Error(Reason::BadRequest, fmt::format("invalid character '{}' at offset {} of JSON input", text[at], at));
    }
    return Error(Reason::BadRequest, fmt::format("invalid JSON at offset {}: {}", at, code.message()));
}

Result<void> check_nothing_follows(std::string_view text, std::size_t used) {
    for (std::size_t i = used; i < text.size(); ++i) {
        if (std::string_view(" \t\r\n").find(text[i]) == std::string_view::npos)
            return Error(Reason::BadRequest, fmt::format("invalid character '{}' after top-level value", text[i]));
    }
    return {};
}

Result<Value> parse_json(std::string_view text, JsonLimits limits) { return parse(text, nullptr, limits); }
Result<Value> parse_json(std::string_view text, std::vector<std::string>& duplicates, JsonLimits limits) {
    return parse(text, &duplicates, limits);
}

}  // namespace porthole::schema
