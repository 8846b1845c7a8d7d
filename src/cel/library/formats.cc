// Named formats: `format.dns1123Label().validate(text)`.
#include <algorithm>

#include "base/base64.h"
#include "cel/library/format.h"
#include "cel/library/libraries.h"

namespace porthole::cel::formats_library {
namespace {

using Arguments = std::span<const Value>;
using Problems = std::vector<std::string>;

bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
bool is_lower_alphanumeric(char c) { return is_lower(c) || (c >= '0' && c <= '9'); }
bool is_alphanumeric(char c) { return is_lower_alphanumeric(c) || (c >= 'A' && c <= 'Z'); }

bool is_label(std::string_view text) {
    return !text.empty() && is_lower_alphanumeric(text.front()) && is_lower_alphanumeric(text.back()) &&
           std::ranges::all_of(text, [](char c) { return is_lower_alphanumeric(c) || c == '-'; });
}
bool is_subdomain(std::string_view text) {
    for (;;) {
        const std::size_t dot = text.find('.');
        if (!is_label(text.substr(0, dot))) return false;
        if (dot == std::string_view::npos) return true;
        text.remove_prefix(dot + 1);
    }
}
bool is_name_part(std::string_view text) {
    return !text.empty() && is_alphanumeric(text.front()) && is_alphanumeric(text.back()) &&
           std::ranges::all_of(text, [](char c) { return is_alphanumeric(c) || c == '-' || c == '_' || c == '.'; });
}

constexpr const char* LabelWords =
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an "
    "alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
constexpr const char* SubdomainWords =
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with "
    "an alphanumeric character (e.g. 'example.com', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
constexpr const char* Dns1035Words =
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end "
    "with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is "
    "'[a-z]([-a-z0-9]*[a-z0-9])?')";
constexpr const char* QualifiedWords =
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. "
    "'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
constexpr const char* LabelValueWords =
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with "
    "an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is "
    "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";

Problems limited(std::string_view text, std::size_t most, bool holds, const char* words, const char* unit = "characters") {
    Problems problems;
    if (text.size() > most) problems.push_back("must be no more than " + std::to_string(most) + " " + unit);
    if (!holds) problems.emplace_back(words);
    return problems;
}

Problems check_label(std::string_view text) {
    return limited(text, 63, is_label(text), is_subdomain(text) ? "must not contain dots" : LabelWords);
}
Problems check_subdomain(std::string_view text) { return limited(text, 253, is_subdomain(text), SubdomainWords); }
Problems check_dns1035(std::string_view text) { return limited(text, 63, is_label(text) && is_lower(text.front()), Dns1035Words); }
Problems check_label_value(std::string_view text) {
    return limited(text, 63, text.empty() || is_name_part(text), LabelValueWords, "bytes");
}
/// A generateName: characters will follow.
template <Problems (*Check)(std::string_view)>
Problems prefix(std::string_view text) {
    std::string name(text);
    if (name.size() > 1 && name.ends_with('-')) name.back() = 'a';
    return Check(name);
}

Problems check_qualified_name(std::string_view text) {
    Problems problems;
    std::string_view name = text;
    if (const std::size_t slash = text.find('/'); slash != std::string_view::npos) {
        name = text.substr(slash + 1);
        if (name.contains('/'))
            return {"a qualified name " + std::string(QualifiedWords) +
                    " with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"};
        if (slash == 0) problems.emplace_back("prefix part must be non-empty");
        if (slash > 0) {
            for (const std::string& problem : check_subdomain(text.substr(0, slash))) problems.push_back("prefix part " + problem);
        }
    }
    if (name.empty()) problems.emplace_back("name part must be non-empty");
    if (name.size() > 63) problems.emplace_back("name part must be no more than 63 bytes");
    if (!is_name_part(name)) problems.push_back("name part " + std::string(QualifiedWords));
    return problems;
}

bool is_hex(std::string_view text) { return text.find_first_not_of("0123456789abcdefABCDEF") == std::string_view::npos; }
Problems check_uuid(std::string_view text) {
    std::string digits;
    constexpr std::size_t Groups[] = {8, 4, 4, 4, 12};
    std::string_view rest = text;
    bool valid = true;
    for (const std::size_t size : Groups) {
        if (&size != Groups && rest.starts_with('-')) rest.remove_prefix(1);
        valid = valid && rest.size() >= size && is_hex(rest.substr(0, size));
        rest.remove_prefix(std::min(size, rest.size()));
    }
    return valid && rest.empty() ? Problems() : Problems{"does not match the UUID format"};
}
Problems check_byte(std::string_view text) {
    const bool valid = !text.empty() && text.size() % 4 == 0 && !text.contains('\n') && decode_base64(text);
    return valid ? Problems() : Problems{"invalid base64"};
}
Problems check_date(std::string_view text) {
    return text.size() == 10 && Moment::parse(std::string(text) + "T00:00:00Z") ? Problems() : Problems{"invalid date"};
}
Problems check_datetime(std::string_view text) {
    std::string normal(text);
    if (normal.size() > 10 && (normal[10] == 't' || normal[10] == ' ')) normal[10] = 'T';
    if (normal.ends_with('z')) normal.back() = 'Z';
    return Moment::parse(normal) ? Problems() : Problems{"invalid datetime"};
}
Problems check_uri(std::string_view text) {
    const Value given = Value::string(std::string(text));
    Work work;
    const Value parsed = url_functions()[0].run({&given, 1}, work);
    constexpr std::size_t Prefix = sizeof "URL parse error during conversion from string: " - 1;
    return parsed.is_error() ? Problems{std::string(parsed.as_text().substr(Prefix))} : Problems();
}

struct NamedFormat {
    const char* function;
    const char* name;
    Problems (*check)(std::string_view);
    std::uint64_t pattern_size;  ///< which upstream estimates for its cost
};

constexpr NamedFormat Formats[] = {
    {"dns1123Label", "DNS1123Label", check_label, 30},
    {"dns1123Subdomain", "DNS1123Subdomain", check_subdomain, 60},
    {"dns1035Label", "DNS1035Label", check_dns1035, 30},
    {"qualifiedName", "QualifiedName", check_qualified_name, 60},
    {"dns1123LabelPrefix", "DNS1123LabelPrefix", prefix<check_label>, 30},
    {"dns1123SubdomainPrefix", "DNS1123SubdomainPrefix", prefix<check_subdomain>, 60},
    {"dns1035LabelPrefix", "DNS1035LabelPrefix", prefix<check_dns1035>, 30},
    {"labelValue", "LabelValue", check_label_value, 40},
    {"uri", "URI", check_uri, 1103},
    {"uuid", "uuid", check_uuid, 70},
    {"byte", "byte", check_byte, 84},
    {"date", "date", check_date, 71},
    {"datetime", "datetime", check_datetime, 71},
};

class FormatValue : public Opaque {
public:
    explicit FormatValue(const NamedFormat& format) : format(format) {}
    TypeRef type() const override {
        static const TypeRef type = types::opaque("kubernetes.NamedFormat");
        return type;
    }
    bool equals(const Opaque& other) const override { return &format == &static_cast<const FormatValue&>(other).format; }
    std::string text() const override { return format.name; }

    const NamedFormat& format;
};

template <std::size_t Index>
Value make(Arguments) {
    return Value::opaque(new FormatValue(Formats[Index]));
}
Value named(Arguments a) {
    for (const NamedFormat& format : Formats) {
        if (a[0].as_text() == format.function) return Value::some(Value::opaque(new FormatValue(format)));
    }
    return Value::none();
}
Value validate(Arguments a) {
    std::vector<Value> items;
    for (std::string& problem : static_cast<const FormatValue&>(a[0].as_opaque()).format.check(a[1].as_text()))
        items.push_back(Value::string(std::move(problem)));
    return items.empty() ? Value::none() : Value::some(Value::list(std::move(items)));
}

#define PORTHOLE_CEL_FORMAT(index, name) {"format." name " = format." name "() -> kubernetes.NamedFormat", make<index>}

constexpr LibraryFunction Table[] = {
    {"format-named = format.named(string) -> optional(kubernetes.NamedFormat)", named},
    {"format-validate = kubernetes.NamedFormat.validate(string) -> optional(list(string))", validate},
    PORTHOLE_CEL_FORMAT(0, "dns1123Label"),
    PORTHOLE_CEL_FORMAT(1, "dns1123Subdomain"),
    PORTHOLE_CEL_FORMAT(2, "dns1035Label"),
    PORTHOLE_CEL_FORMAT(3, "qualifiedName"),
    PORTHOLE_CEL_FORMAT(4, "dns1123LabelPrefix"),
    PORTHOLE_CEL_FORMAT(5, "dns1123SubdomainPrefix"),
    PORTHOLE_CEL_FORMAT(6, "dns1035LabelPrefix"),
    PORTHOLE_CEL_FORMAT(7, "labelValue"),
    PORTHOLE_CEL_FORMAT(8, "uri"),
    PORTHOLE_CEL_FORMAT(9, "uuid"),
    PORTHOLE_CEL_FORMAT(10, "byte"),
    PORTHOLE_CEL_FORMAT(11, "date"),
    PORTHOLE_CEL_FORMAT(12, "datetime"),
};
#undef PORTHOLE_CEL_FORMAT

}  // namespace
}  // namespace porthole::cel::formats_library

namespace porthole::cel {

std::uint64_t format_pattern_size(const Value& format) {
    const auto* value = format.as_opaque_of<formats_library::FormatValue>();
    return value ? value->format.pattern_size : 0;
}

std::span<const LibraryFunction> format_functions() { return formats_library::Table; }

}  // namespace porthole::cel
