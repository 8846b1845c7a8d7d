#include "schema/json/json_parts.h"

#include <boost/json/basic_parser_impl.hpp>
#include <charconv>
#include <cmath>

#include "schema/json/json_errors.h"
#include "schema/json/json_slicer.h"

namespace porthole::schema {
namespace {

namespace json = boost::json;

/// Takes the parser's events and keeps nothing.
struct NoTree {
    static constexpr std::size_t max_object_size = static_cast<std::size_t>(-1);
    static constexpr std::size_t max_array_size = static_cast<std::size_t>(-1);
    static constexpr std::size_t max_key_size = static_cast<std::size_t>(-1);
    static constexpr std::size_t max_string_size = static_cast<std::size_t>(-1);

    bool on_document_begin(json::error_code&) { return true; }
    bool on_document_end(json::error_code&) { return true; }
    bool on_object_begin(json::error_code&) { return true; }
    bool on_object_end(std::size_t, json::error_code&) { return true; }
    bool on_array_begin(json::error_code&) { return true; }
    bool on_array_end(std::size_t, json::error_code&) { return true; }
    bool on_key_part(json::string_view, std::size_t, json::error_code&) { return true; }
    bool on_key(json::string_view, std::size_t, json::error_code&) { return true; }
    bool on_string_part(json::string_view, std::size_t, json::error_code&) { return true; }
    bool on_string(json::string_view, std::size_t, json::error_code&) { return true; }
    bool on_number_part(json::string_view, json::error_code&) { return true; }
    bool on_int64(std::int64_t, json::string_view, json::error_code&) { return true; }
    bool on_uint64(std::uint64_t, json::string_view, json::error_code&) { return true; }
    /// As where a tree is built.
    bool on_double(double approximate, json::string_view text, json::error_code& code) {
        double number = approximate;
        std::from_chars(text.data(), text.data() + text.size(), number);
        if (!std::isfinite(number)) code = json::error::exponent_overflow;
        return !code;
    }
    bool on_bool(bool, json::error_code&) { return true; }
    bool on_null(json::error_code&) { return true; }
    bool on_comment_part(json::string_view, json::error_code&) { return true; }
    bool on_comment(json::string_view, json::error_code&) { return true; }
};

Result<void> add_parts(JsonSlicer& at, const std::vector<std::string_view>& paths, Value& parts) {
    parts = Object();
    return at.members([&](std::string_view quoted) -> Result<void> {
        if (!quoted.starts_with('"')) return Error(Reason::BadRequest, "malformed JSON: a key is no string");
        std::string_view name = quoted.substr(1, quoted.size() - 2);
        Value unescaped;
        if (name.contains('\\')) {
            TRY(unescaped, parse_json(quoted));
            name = unescaped.as_string();
        }
        bool whole = false;
        std::vector<std::string_view> inside;
        for (const std::string_view path : paths) {
            if (!path.starts_with(name)) continue;
            whole = whole || path.size() == name.size();
            if (path.size() > name.size() && path[name.size()] == '.') inside.push_back(path.substr(name.size() + 1));
        }
        if (!whole && !inside.empty() && at.is_at("{")) return add_parts(at, inside, parts[name]);
        TRY(const std::string_view text, at.value());
        if (!whole && inside.empty()) return {};
        TRY(parts[name], parse_json(text));
        return {};
    });
}

}  // namespace

Result<void> check_json(std::string_view text, JsonLimits limits) {
    json::parse_options options;
    options.max_depth = limits.depth;
    json::basic_parser<NoTree> parser(options);
    json::error_code code;
    const std::size_t used = parser.write_some(false, text.data(), text.size(), code);
    if (code) return json_syntax_error(text, used, code);
    return check_nothing_follows(text, used);
}

Result<Value> parse_json_parts(std::string_view text, const std::vector<std::string_view>& paths) {
    JsonSlicer slicer(text);
    Value parts;
    TRY_VOID(add_parts(slicer, paths, parts));
    return parts;
}

}  // namespace porthole::schema
