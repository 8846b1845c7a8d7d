#include "cel/library/string_format.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

#include "base/strings.h"
#include "cel/library/utf8.h"

namespace porthole::cel {
namespace {

constexpr int DefaultPrecision = 6, MostPrecision = 100;

std::string type_name(const Value& value) { return value.type()->name; }

/// A clause's text, or why there is none.
struct Text {
    std::string text;
    std::string mistake;
};

Text fail(std::string mistake) { return {"", std::move(mistake)}; }

/// How a call writes; see format_string.
struct Style {
    bool plain = false;
    bool nested = false;  ///< within a list or map
};

std::string special_double(double number, bool plain) {
    if (std::isnan(number)) return "NaN";
    return std::string(number < 0 ? "-" : "") + (plain ? "Infinity" : "∞");
}

Text as_text(const Value& value, Style style, Work& work);

Text list_text(const Value& value, Style style, Work& work) {
    std::string text = "[";
    for (std::size_t i = 0; i < value.count() && !work.is_used_up(); ++i) {
        Text item = as_text(value.item(i), style, work);
        if (!item.mistake.empty()) return item;
        text += (i ? ", " : "") + item.text;
    }
    return {text + "]", ""};
}

Text map_text(const Value& value, Style style, Work& work) {
    std::vector<std::pair<std::string, std::string>> entries;
    for (std::size_t i = 0; i < value.count() && !work.is_used_up(); ++i) {
        const Value::Entry entry = value.entry(i);
        if (!entry.first.is(Kind::String) && !entry.first.is(Kind::Bool) && !entry.first.is(Kind::Int) && !entry.first.is(Kind::Uint))
            return fail("no formatting function for map key of type " + type_name(entry.first));
        Text one = as_text(entry.second, style, work);
        if (!one.mistake.empty()) return one;
        entries.emplace_back(as_text(entry.first, style, work).text, std::move(one.text));
    }
    std::ranges::sort(entries);
    std::string text = "{";
    for (const auto& [key, one] : entries) text += (text.size() > 1 ? ", " : "") + key + (style.plain ? ": " : ":") + one;
    return {text + "}", ""};
}

std::string double_clause(double number, Style style) {
    if (style.plain) return std::isfinite(number) ? double_text(number) : special_double(number, true);
    if (!style.nested) return double_text(number);
    return std::isfinite(number) ? fmt::format("{:.6f}", number) : "\"" + double_text(number) + "\"";
}

/// %s. Within a list or map texts are quoted, unless the style is plain.
Text as_text(const Value& value, Style style, Work& work) {
    // With what stands around it.
    const bool is_text = value.is(Kind::String) || value.is(Kind::Bytes);
    if (!work.look() || !work.make(sizeof(Text) + (is_text ? value.as_text().size() : 0))) return {};
    const bool quotes = style.nested && !style.plain;
    const Style inner{style.plain, true};
    switch (value.kind()) {
        case Kind::List:
            return list_text(value, inner, work);
        case Kind::Map:
        case Kind::Object:
            return map_text(value, inner, work);
        case Kind::String:
            return {quotes ? quote(value.as_text()) : std::string(value.as_text()), ""};
        case Kind::Bytes:
            return {quotes ? "b" + quote(value.as_text()) : std::string(value.as_text()), ""};
        case Kind::Timestamp:
            return {quotes ? "timestamp(\"" + value.to_string() + "\")" : value.to_string(), ""};
        case Kind::Duration:
            return {quotes ? "duration(\"" + value.to_string() + "\")" : value.to_string(), ""};
        case Kind::Double:
            return {double_clause(value.as_double(), style), ""};
        case Kind::Null:
        case Kind::Bool:
        case Kind::Int:
        case Kind::Uint:
        case Kind::Type:
            return {value.to_string(), ""};
        default:
            if (style.nested) return fail("no formatting function for " + type_name(value));
            return fail(
                "error during formatting: string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, "
                "durations, "
                "and timestamps, was given " +
                type_name(value));
    }
}

Text decimal(const Value& value, bool plain) {
    if (value.is(Kind::Int) || value.is(Kind::Uint)) return {value.to_string(), ""};
    if (plain && value.is(Kind::Double)) return {double_clause(value.as_double(), {true, false}), ""};
    return fail("error during formatting: decimal clause can only be used on integers, was given " + type_name(value));
}

std::optional<double> number_of(const Value& value, bool plain) {
    if (value.is(Kind::Double)) return value.as_double();
    if (plain && value.is(Kind::Int)) return static_cast<double>(value.as_int());
    if (plain && value.is(Kind::Uint)) return static_cast<double>(value.as_uint());
    if (!value.is(Kind::String)) return {};
    if (value.as_text() == "NaN") return NAN;
    if (value.as_text() == "Infinity") return INFINITY;
    return value.as_text() == "-Infinity" ? std::optional(-INFINITY) : std::nullopt;
}

/// "1234567.5" as "1,234,567.5".
std::string grouped(std::string text) {
    const std::size_t end = std::min(text.find('.'), text.size()), begin = text.starts_with('-') ? 1 : 0;
    for (std::size_t at = end; at > begin + 3;) {
        at -= 3;
        text.insert(at, ",");
    }
    return text;
}

Text fixed(const Value& value, int precision, bool plain) {
    const auto number = number_of(value, plain);
    if (!number) return fail("error during formatting: fixed-point clause can only be used on doubles, was given " + type_name(value));
    if (!std::isfinite(*number)) return {special_double(*number, plain), ""};
    std::string text = fmt::format("{:.{}f}", *number, precision);
    return {plain ? text : grouped(std::move(text)), ""};
}

/// "1.5 × 10⁻⁰³": upstream prints numbers in the form of American English.
Text scientific(const Value& value, int precision, bool plain) {
    const auto number = number_of(value, plain);
    if (!number) return fail("error during formatting: scientific clause can only be used on doubles, was given " + type_name(value));
    if (!std::isfinite(*number)) return {special_double(*number, plain), ""};
    std::string text = fmt::format("{:.{}e}", *number, precision);
    if (plain) return {text, ""};
    const std::size_t e = text.find('e');
    std::string raised = text[e + 1] == '-' ? "⁻" : "";
    constexpr const char* Digits[] = {"⁰", "¹", "²", "³", "⁴", "⁵", "⁶", "⁷", "⁸", "⁹"};
    for (const char c : text.substr(e + 2)) raised += Digits[c - '0'];
    return {text.substr(0, e) + "\u202f×\u202f10" + raised, ""};
}

Text based(const Value& value, int base, bool upper, const char* name, const char* takes) {
    std::uint64_t size = 0;
    bool negative = false;
    if (value.is(Kind::Int)) {
        negative = value.as_int() < 0;
        size = negative ? 0 - static_cast<std::uint64_t>(value.as_int()) : static_cast<std::uint64_t>(value.as_int());
    } else if (value.is(Kind::Uint)) {
        size = value.as_uint();
    } else if (base == 2 && value.is(Kind::Bool)) {
        size = value.as_bool();
    } else if (base == 16 && (value.is(Kind::String) || value.is(Kind::Bytes))) {
        std::string text;
        for (const char c : value.as_text()) text += fmt::format("{:02x}", static_cast<unsigned char>(c));
        return {upper ? to_upper(text) : text, ""};
    } else {
        return fail(fmt::format("error during formatting: {} clause can only be used on {}, was given {}", name, takes, type_name(value)));
    }
    char digits[72];
    const auto end = std::to_chars(digits, digits + sizeof digits, size, base).ptr;
    const std::string text = (negative ? "-" : "") + std::string(digits, end);
    return {upper ? to_upper(text) : text, ""};
}

Text clause(char kind, const Value& value, std::optional<int> precision, bool plain, Work& work) {
    switch (kind) {
        case 's':
            return as_text(value, {plain, false}, work);
        case 'd':
            return decimal(value, plain);
        case 'f':
            return fixed(value, precision.value_or(DefaultPrecision), plain);
        case 'e':
            return scientific(value, precision.value_or(DefaultPrecision), plain);
        case 'b':
            return based(value, 2, false, "binary", "integers and bools");
        case 'x':
        case 'X':
            return based(value, 16, kind == 'X', "hex", "integers, byte buffers, and strings");
        case 'o':
            return based(value, 8, false, "octal", "integers");
        default:
            return fail(fmt::format("could not parse formatting clause: unrecognized formatting clause \"{}\"", kind));
    }
}

}  // namespace

Value format_string(std::string_view pattern, const Value& arguments, bool plain, Work& work) {
    std::string text;
    std::size_t next = 0;
    for (std::size_t i = 0; i < pattern.size(); ++i) {
        if (pattern[i] != '%') {
            text += pattern[i];
            continue;
        }
        if (++i == pattern.size()) return Value::error("unexpected end of string");
        if (pattern[i] == '%') {
            text += '%';
            continue;
        }
        if (next >= arguments.count()) return Value::error(fmt::format("index {} out of range", next));
        std::optional<int> precision;
        if (pattern[i] == '.') {
            int digits = 0;
            const auto read = std::from_chars(pattern.data() + i + 1, pattern.data() + pattern.size(), digits);
            i = static_cast<std::size_t>(read.ptr - pattern.data());
            if (i == pattern.size())
                return Value::error(
                    "could not parse formatting clause: error while parsing precision: could not find end of precision specifier");
            if (read.ec != std::errc() || digits < 0 || digits > MostPrecision)
                return Value::error(
                    "could not parse formatting clause: error while parsing precision: error while converting precision to integer");
            precision = digits;
        }
        Text one = clause(pattern[i], arguments.item(next++), precision, plain, work);
        if (!work.make(one.text.size())) return {};
        if (!one.mistake.empty()) return Value::error(std::move(one.mistake));
        text += one.text;
    }
    return Value::string(std::move(text));
}

}  // namespace porthole::cel
