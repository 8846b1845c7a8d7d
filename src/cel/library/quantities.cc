// Quantities and semantic versions.
#include <charconv>
#include <cmath>

#include "base/strings.h"
#include "base/values/quantity.h"
#include "cel/library/libraries.h"

namespace porthole::cel::quantities_library {
namespace {

using Arguments = std::span<const Value>;

class QuantityValue : public Opaque {
public:
    explicit QuantityValue(const Quantity& quantity) : quantity(quantity) {}
    TypeRef type() const override {
        static const TypeRef type = types::opaque("kubernetes.Quantity");
        return type;
    }
    bool equals(const Opaque& other) const override { return quantity == static_cast<const QuantityValue&>(other).quantity; }
    std::string text() const override { return quantity.to_string(); }

    Quantity quantity;
};

const Quantity& quantity_of(const Value& value) { return static_cast<const QuantityValue&>(value.as_opaque()).quantity; }
Value made(const Quantity& quantity) { return Value::opaque(new QuantityValue(quantity)); }

Value quantity(Arguments a) {
    const auto parsed = Quantity::parse(a[0].as_text());
    return parsed ? made(*parsed) : Value::error(parsed.error().message);
}
Value is_quantity(Arguments a) { return Value::boolean(Quantity::parse(a[0].as_text()).has_value()); }
Value quantity_sign(Arguments a) { return Value::integer(quantity_of(a[0]).sign()); }
/// Whether it is an integer that fits.
bool is_integer(const Quantity& quantity) {
    return quantity.is_whole() && quantity.value() != INT64_MIN && Quantity::from_value(quantity.value()) == quantity;
}
Value quantity_is_integer(Arguments a) { return Value::boolean(is_integer(quantity_of(a[0]))); }
Value as_integer(Arguments a) {
    const Quantity& given = quantity_of(a[0]);
    return is_integer(given) ? Value::integer(given.value()) : Value::error("cannot convert value to integer");
}
Value as_float(Arguments a) { return Value::real(quantity_of(a[0]).as_double()); }
Value quantity_add(Arguments a) { return made(quantity_of(a[0]) + quantity_of(a[1])); }
Value quantity_sub(Arguments a) { return made(quantity_of(a[0]) - quantity_of(a[1])); }
Value quantity_add_int(Arguments a) { return made(quantity_of(a[0]) + Quantity::from_value(a[1].as_int())); }
Value quantity_sub_int(Arguments a) { return made(quantity_of(a[0]) - Quantity::from_value(a[1].as_int())); }
Value quantity_less(Arguments a) { return Value::boolean(quantity_of(a[0]) < quantity_of(a[1])); }
Value quantity_greater(Arguments a) { return Value::boolean(quantity_of(a[0]) > quantity_of(a[1])); }
Value quantity_compare(Arguments a) {
    const auto order = quantity_of(a[0]) <=> quantity_of(a[1]);
    return Value::integer(order < 0 ? -1 : order > 0);
}

/// A version by semver.org: build metadata does not take part in comparison.
struct Version {
    std::uint64_t numbers[3] = {0, 0, 0};
    std::vector<std::string> prerelease;
    std::string build;
};

class SemverValue : public Opaque {
public:
    SemverValue(Version version, std::string text) : version(std::move(version)), text_(std::move(text)) {}
    TypeRef type() const override {
        static const TypeRef type = types::opaque("kubernetes.Semver");
        return type;
    }
    bool equals(const Opaque& other) const override;
    std::string text() const override { return text_; }

    Version version;

private:
    std::string text_;
};

bool is_number(std::string_view text) { return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos; }
bool is_alphanumeric(std::string_view text) {
    return !text.empty() &&
           text.find_first_not_of("0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-") == std::string_view::npos;
}
bool read_number(std::string_view text, std::uint64_t& number) {
    const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
    return read.ec == std::errc() && read.ptr == text.data() + text.size();
}

/// "" and the version, or what is wrong with the text.
std::string parse_version(std::string_view text, Version& version) {
    if (text.empty()) return "Version string empty";
    constexpr const char* Names[] = {"major", "minor", "patch"};
    std::string_view rest = text;
    for (int i = 0; i < 3; ++i) {
        std::size_t end = rest.find(i < 2 ? "." : "-");
        if (i == 2) end = std::min(rest.find('-'), rest.find('+'));
        if (i < 2 && end == std::string_view::npos) return "No Major.Minor.Patch elements found";
        const std::string_view number = rest.substr(0, end);
        if (!is_number(number)) return std::string("Invalid character(s) found in ") + Names[i] + " number " + quote(number);
        if (number.size() > 1 && number[0] == '0')
            return std::string(1, to_upper(Names[i][0])) + (Names[i] + 1) + " number must not contain leading zeroes " + quote(number);
        if (!read_number(number, version.numbers[i])) return "strconv.ParseUint: parsing " + quote(number) + ": value out of range";
        rest.remove_prefix(std::min(end, rest.size()));
        if (i < 2) rest.remove_prefix(1);
    }
    const std::size_t plus = rest.find('+');
    if (plus != std::string_view::npos) {
        version.build = rest.substr(plus + 1);
        for (const std::string_view part : split_views(version.build, '.')) {
            if (part.empty()) return "Build meta data is empty";
            if (!is_alphanumeric(part)) return "Invalid character(s) found in build meta data " + quote(part);
        }
        rest = rest.substr(0, plus);
    }
    if (rest.starts_with('-')) {
        for (const std::string& part : split(rest.substr(1), '.')) {
            if (part.empty()) return "Prerelease is empty";
            if (is_number(part) && part.size() > 1 && part[0] == '0')
                return "Numeric PreRelease version must not contain leading zeroes " + quote(part);
            if (!is_alphanumeric(part)) return "Invalid character(s) found in prerelease " + quote(part);
            version.prerelease.push_back(part);
        }
    }
    return {};
}

/// "v1.02" as "1.2.0".
std::string normalized(std::string_view text) {
    if (text.starts_with('v')) text.remove_prefix(1);
    const std::size_t tail = std::min(text.find_first_of("-+"), text.size());
    std::vector<std::string> numbers = split(text.substr(0, tail), '.');
    for (std::string& number : numbers) {
        const std::size_t zeroes = number.find_first_not_of('0');
        if (number.size() > 1) number.erase(0, zeroes == std::string::npos ? number.size() - 1 : zeroes);
    }
    while (numbers.size() < 3) numbers.emplace_back("0");
    return join(numbers, ".") + std::string(text.substr(tail));
}

int compare_parts(const std::string& left, const std::string& right) {
    if (is_number(left) && is_number(right)) {
        if (left.size() != right.size()) return left.size() < right.size() ? -1 : 1;
    } else if (is_number(left) != is_number(right)) {
        return is_number(left) ? -1 : 1;
    }
    const int order = left.compare(right);
    return order < 0 ? -1 : order > 0;
}

int compare_versions(const Version& left, const Version& right) {
    for (int i = 0; i < 3; ++i) {
        if (left.numbers[i] != right.numbers[i]) return left.numbers[i] < right.numbers[i] ? -1 : 1;
    }
    if (left.prerelease.empty() || right.prerelease.empty())
        return static_cast<int>(left.prerelease.empty()) - static_cast<int>(right.prerelease.empty());
    for (std::size_t i = 0; i < left.prerelease.size() && i < right.prerelease.size(); ++i) {
        if (const int order = compare_parts(left.prerelease[i], right.prerelease[i])) return order;
    }
    return left.prerelease.size() < right.prerelease.size() ? -1 : left.prerelease.size() > right.prerelease.size();
}

bool SemverValue::equals(const Opaque& other) const {
    return compare_versions(version, static_cast<const SemverValue&>(other).version) == 0;
}

const Version& version_of(const Value& value) { return static_cast<const SemverValue&>(value.as_opaque()).version; }
std::string version_text(Arguments a) { return a.size() > 1 && a[1].as_bool() ? normalized(a[0].as_text()) : std::string(a[0].as_text()); }
Value made_semver(std::string text) {
    Version version;
    const std::string mistake = parse_version(text, version);
    return mistake.empty() ? Value::opaque(new SemverValue(std::move(version), std::move(text))) : Value::error(mistake);
}
Value semver(Arguments a) { return made_semver(version_text(a)); }
Value is_semver(Arguments a) {
    Version version;
    return Value::boolean(parse_version(version_text(a), version).empty());
}
template <int Index>
Value number(Arguments a) {
    return Value::integer(static_cast<std::int64_t>(version_of(a[0]).numbers[Index]));
}
Value semver_less(Arguments a) { return Value::boolean(compare_versions(version_of(a[0]), version_of(a[1])) < 0); }
Value semver_greater(Arguments a) { return Value::boolean(compare_versions(version_of(a[0]), version_of(a[1])) > 0); }
Value semver_compare(Arguments a) { return Value::integer(compare_versions(version_of(a[0]), version_of(a[1]))); }

constexpr LibraryFunction Table[] = {
    {"string_to_quantity = quantity(string) -> kubernetes.Quantity", quantity},
    {"is_quantity_string = isQuantity(string) -> bool", is_quantity},
    {"quantity_sign = sign(kubernetes.Quantity) -> int", quantity_sign},
    {"quantity_get_float = kubernetes.Quantity.asApproximateFloat() -> double", as_float},
    {"quantity_get_int = kubernetes.Quantity.asInteger() -> int", as_integer},
    {"quantity_is_integer = kubernetes.Quantity.isInteger() -> bool", quantity_is_integer},
    {"quantity_add = kubernetes.Quantity.add(kubernetes.Quantity) -> kubernetes.Quantity", quantity_add},
    {"quantity_add_int = kubernetes.Quantity.add(int) -> kubernetes.Quantity", quantity_add_int},
    {"quantity_sub = kubernetes.Quantity.sub(kubernetes.Quantity) -> kubernetes.Quantity", quantity_sub},
    {"quantity_sub_int = kubernetes.Quantity.sub(int) -> kubernetes.Quantity", quantity_sub_int},
    {"quantity_is_less_than = kubernetes.Quantity.isLessThan(kubernetes.Quantity) -> bool", quantity_less},
    {"quantity_is_greater_than = kubernetes.Quantity.isGreaterThan(kubernetes.Quantity) -> bool", quantity_greater},
    {"quantity_compare_to = kubernetes.Quantity.compareTo(kubernetes.Quantity) -> int", quantity_compare},
};
constexpr LibraryFunction Semver[] = {
    {"string_to_semver = semver(string) -> kubernetes.Semver", semver},
    {"string_bool_to_semver = semver(string, bool) -> kubernetes.Semver", semver},
    {"is_semver_string = isSemver(string) -> bool", is_semver},
    {"is_semver_string_bool = isSemver(string, bool) -> bool", is_semver},
    {"semver_major = kubernetes.Semver.major() -> int", number<0>},
    {"semver_minor = kubernetes.Semver.minor() -> int", number<1>},
    {"semver_patch = kubernetes.Semver.patch() -> int", number<2>},
    {"semver_is_less_than = kubernetes.Semver.isLessThan(kubernetes.Semver) -> bool", semver_less},
    {"semver_is_greater_than = kubernetes.Semver.isGreaterThan(kubernetes.Semver) -> bool", semver_greater},
    {"semver_compare_to = kubernetes.Semver.compareTo(kubernetes.Semver) -> int", semver_compare},
};

}  // namespace
}  // namespace porthole::cel::quantities_library

namespace porthole::cel {

std::span<const LibraryFunction> quantity_functions() { return quantities_library::Table; }
Value make_quantity(const Quantity& quantity) { return quantities_library::made(quantity); }
Value make_semver(std::string_view text) { return quantities_library::made_semver(std::string(text)); }

std::span<const LibraryFunction> semver_functions() { return quantities_library::Semver; }

}  // namespace porthole::cel
