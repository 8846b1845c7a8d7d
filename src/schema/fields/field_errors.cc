#include "schema/fields/field_errors.h"

#include <charconv>
#include <iterator>
#include <unordered_set>

#include <fmt/format.h>

#include "base/strings.h"
#include "schema/json/json.h"

namespace porthole::schema {
namespace {

/// A text as Go quotes it; anything else as Go's encoder writes JSON, which is safe within HTML.
std::string shown(const Value& bad) {
    if (bad.is_string()) return quote(bad.as_string());
    std::string text;
    for (const char c : to_json(bad)) {
        if (c == '<' || c == '>' || c == '&')
            text += c == '<' ? "\\u003c" : c == '>' ? "\\u003e" : "\\u0026";
        else
            text += c;
    }
    return text;
}

}  // namespace

void FieldPath::assign(std::initializer_list<std::string_view> parts) {
    size_ = 0;
    for (const std::string_view part : parts) size_ += part.size();
    if (size_ > Room) far_ = std::make_unique_for_overwrite<char[]>(size_);
    char* at = size_ > Room ? far_.get() : near_;
    for (const std::string_view part : parts) at += part.copy(at, part.size());
}

FieldPath& FieldPath::operator=(const FieldPath& other) {
    if (this != &other) assign({other.text()});
    return *this;
}

FieldPath FieldPath::child(std::string_view name) const {
    FieldPath path;
    path.assign({text(), size_ == 0 ? "" : ".", name});
    return path;
}

FieldPath FieldPath::index(std::size_t position) const {
    char digits[20];
    const char* const end = std::to_chars(std::begin(digits), std::end(digits), position).ptr;
    return key({digits, end});
}

FieldPath FieldPath::key(std::string_view name) const {
    FieldPath path;
    path.assign({text(), "[", name, "]"});
    return path;
}

void FieldErrors::add(const char* type, const FieldPath& path, std::string_view what, std::string_view value, std::string_view detail) {
    if (causes_.size() >= MostCauses || bytes_ >= MostBytes) {
        ++left_out_;
        return;
    }
    std::string message(what);
    if (!value.empty()) message.append(": ").append(value);
    if (!detail.empty()) message.append(": ").append(detail);
    add({type, std::move(message), std::string(path.text())});
}

void FieldErrors::add(Cause cause) {
    if (causes_.size() >= MostCauses || bytes_ >= MostBytes) {
        ++left_out_;
        return;
    }
    bytes_ += cause.message.size() + cause.field.size();
    causes_.push_back(std::move(cause));
}

void FieldErrors::required(const FieldPath& path, std::string_view detail) {
    add("FieldValueRequired", path, "Required value", "", detail);
}
void FieldErrors::invalid(const FieldPath& path, const Value& bad, std::string_view detail) {
    add("FieldValueInvalid", path, "Invalid value", shown(bad), detail);
}
void FieldErrors::invalid_as_a_whole(const FieldPath& path, std::string_view detail) {
    add("FieldValueInvalid", path, "Invalid value", "", detail);
}
void FieldErrors::type_invalid(const FieldPath& path, const Value& bad, std::string_view detail) {
    add("FieldValueTypeInvalid", path, "Invalid value", shown(bad), detail);
}
void FieldErrors::not_supported(const FieldPath& path, const Value& bad, std::span<const std::string_view> supported) {
    std::string detail;
    for (const std::string_view value : supported) detail += (detail.empty() ? "supported values: " : ", ") + quote(value);
    add("FieldValueNotSupported", path, "Unsupported value", shown(bad), detail);
}
void FieldErrors::duplicate(const FieldPath& path, const Value& bad) {
    add("FieldValueDuplicate", path, "Duplicate value", shown(bad), "");
}
void FieldErrors::duplicate_as_a_whole(const FieldPath& path) { add("FieldValueDuplicate", path, "Duplicate value", "", ""); }
void FieldErrors::not_found(const FieldPath& path, const Value& bad, std::string_view detail) {
    add("FieldValueNotFound", path, "Not found", shown(bad), detail);
}
void FieldErrors::forbidden(const FieldPath& path, std::string_view detail) { add("FieldValueForbidden", path, "Forbidden", "", detail); }
void FieldErrors::too_long(const FieldPath& path, std::size_t max_bytes) {
    add("FieldValueTooLong", path, "Too long", "", fmt::format("may not be more than {} bytes", max_bytes));
}
void FieldErrors::too_long_characters(const FieldPath& path, std::size_t max_characters) {
    add("FieldValueTooLong", path, "Too long", "", fmt::format("may not be more than {} characters", max_characters));
}
void FieldErrors::too_many(const FieldPath& path, std::size_t actual, std::size_t max_items) {
    add("FieldValueTooMany", path, "Too many", std::to_string(actual),
        fmt::format("must have at most {} item{}", max_items, max_items == 1 ? "" : "s"));
}
void FieldErrors::too_few(const FieldPath& path, std::size_t actual, std::size_t min_items) {
    add("FieldValueTooFew", path, "Too few", std::to_string(actual),
        fmt::format("must have at least {} item{}", min_items, min_items == 1 ? "" : "s"));
}
void FieldErrors::internal(const FieldPath& path, std::string_view detail) { add("InternalError", path, "Internal error", "", detail); }

void FieldErrors::append(FieldErrors other) {
    for (Cause& cause : other.causes_) add(std::move(cause));
    left_out_ += other.left_out_;
    std::move(other.warnings_.begin(), other.warnings_.end(), std::back_inserter(warnings_));
}

std::string FieldErrors::text() const {
    std::vector<std::string> texts;
    std::unordered_set<std::string> known;
    for (const Cause& cause : causes_) {
        std::string text = cause.field.empty() ? cause.message : cause.field + ": " + cause.message;
        if (known.insert(text).second) texts.push_back(std::move(text));
    }
    if (left_out_ > 0) texts.push_back(fmt::format("and {} more errors", left_out_));
    if (texts.size() == 1) return texts[0];
    return fmt::format("[{}]", fmt::join(texts, ", "));
}

Error FieldErrors::to_error(std::string_view group, std::string_view kind, std::string_view name) const {
    const std::string group_part = group.empty() ? "" : fmt::format(".{}", group);
    Error error(Reason::Invalid, fmt::format("{}{} {} is invalid: {}", kind, group_part, quote(name), text()));
    error.details->name = name;
    error.details->group = group;
    error.details->kind = kind;
    error.details->causes = causes_;
    return error;
}

}  // namespace porthole::schema
