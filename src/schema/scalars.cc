#include "schema/scalars.h"

#include <chrono>
#include <limits>

#include <fmt/format.h>

#include "base/base64.h"
#include "base/strings.h"
#include "base/time/time.h"
#include "base/values/int_or_string.h"
#include "base/values/quantity.h"
#include "schema/scalar.h"

namespace porthole::schema {
namespace {

template <class T>
const T& as(const void* memory) {
    return *static_cast<const T*>(memory);
}
template <class T>
T& as(void* memory) {
    return *static_cast<T*>(memory);
}

template <class Time>
Value time_to_value(const void* memory) {
    const Time& time = as<Time>(memory);
    return time.is_zero() ? Value() : Value(time.to_string());
}

std::string_view scalar_name(Form form) {
    switch (form) {
        case Form::Bool:
            return "bool";
        case Form::Int32:
        case Form::Enum:
            return "int32";
        case Form::Int64:
            return "int64";
        case Form::Uint32:
            return "uint32";
        case Form::Uint64:
            return "uint64";
        case Form::Double:
            return "float64";
        case Form::String:
            return "string";
        case Form::Bytes:
            return "[]uint8";
        case Form::Quantity:
            return "resource.Quantity";
        case Form::IntOrString:
            return "intstr.IntOrString";
        case Form::Time:
            return "v1.Time";
        case Form::MicroTime:
            return "v1.MicroTime";
        case Form::Duration:
            return "v1.Duration";
        default:
            return "runtime.RawExtension";
    }
}

template <class T>
bool integer_from_value(void* memory, const Value& value) {
    if (!value.is_int()) return false;
    const std::int64_t number = value.as_int();
    if constexpr (!std::is_same_v<T, std::int64_t> && !std::is_same_v<T, std::uint64_t>) {
        if (number < std::numeric_limits<T>::min() || number > std::numeric_limits<T>::max()) return false;
    }
    store<T>(memory, static_cast<T>(number));
    return true;
}

template <class T>
Result<bool> parsed_from_value(void* memory, const Value& value, Result<T> (*parse)(std::string_view)) {
    if (!value.is_string()) return false;
    TRY(as<T>(memory), parse(value.as_string()));
    return true;
}

Result<bool> quantity_from_value(void* memory, const Value& value) {
    if (!value.is_string() && !value.is_number()) return Error(Reason::BadRequest, Quantity::parse("x").error().message);
    std::string amount = value.is_string() ? value.as_string() : "";
    if (value.is_number()) append_number(value, amount);
    TRY(as<Quantity>(memory), Quantity::parse(trim(amount, " ")));
    return true;
}

Result<bool> int_or_string_from_value(void* memory, const Value& value) {
    if (value.is_string()) {
        as<IntOrString>(memory) = value.as_string();
        return true;
    }
    std::int32_t number = 0;
    if (!integer_from_value<std::int32_t>(&number, value)) {  // Go has a reader of its own for the type, which does not know the field
        Field plain;
        plain.form = Form::Int32;
        return type_error(value, "", "", plain, true);
    }
    as<IntOrString>(memory) = number;
    return true;
}

}  // namespace

std::string go_type(const Field& field, bool element) {
    std::string prefix;
    if (!element && field.is_list()) prefix = "[]";
    if (!element && field.is_map()) prefix = "map[string]";
    if (field.form == Form::Nested) return prefix + go_type(*field.element, false);
    if (field.form == Form::Struct) {
        const std::string_view package = field.type->package ? field.type->package->version : std::string_view("v1");
        return fmt::format("{}{}.{}", prefix, package, field.type->name);
    }
    if (field.enumeration() && field.form == Form::String) return prefix + "v1." + std::string(field.enumeration()->name);
    return prefix.append(scalar_name(field.form));
}

Error type_error(const Value& found, std::string_view owner, std::string_view path, const Field& field, bool element) {
    std::string what = found.type_name();
    const bool wants_number =
        field.form == Form::Int32 || field.form == Form::Int64 || field.form == Form::Uint32 || field.form == Form::Uint64;
    if (found.is_number() && wants_number && (element || field.is_single())) append_number(found, what += " ");
    const std::string type = go_type(field, element);
    if (owner.empty()) return Error(Reason::BadRequest, fmt::format("json: cannot unmarshal {} into Go value of type {}", what, type));
    return Error(Reason::BadRequest,
                 fmt::format("json: cannot unmarshal {} into Go struct field {}.{} of type {}", what, owner, path, type));
}

Value scalar_to_value(Form form, const void* memory) {
    switch (form) {
        case Form::Bool:
            return load<bool>(memory);
        case Form::Int32:
        case Form::Enum:
            return load<std::int32_t>(memory);
        case Form::Int64:
            return load<std::int64_t>(memory);
        case Form::Uint32:
            return load<std::uint32_t>(memory);
        case Form::Uint64:
            return static_cast<std::int64_t>(load<std::uint64_t>(memory));
        case Form::Double:
            return load<double>(memory);
        case Form::String:
            return as<std::string>(memory);
        case Form::Bytes:
            return encode_base64(as<std::string>(memory));
        case Form::Quantity:
            return as<Quantity>(memory).to_string();
        case Form::IntOrString: {
            const auto& value = as<IntOrString>(memory);
            return value.is_string() ? Value(value.as_string()) : Value(value.as_int());
        }
        case Form::Time:
            return time_to_value<Timestamp>(memory);
        case Form::MicroTime:
            return time_to_value<MicroTimestamp>(memory);
        case Form::Duration:
            return format_duration(as<std::chrono::nanoseconds>(memory));
        case Form::Raw:
        case Form::Json:
        case Form::FieldsV1:
            return as<Value>(memory);
        case Form::Struct:
        case Form::Nested:
            break;
    }
    CHECK(!"a struct is not a scalar");
    return {};
}

Result<bool> scalar_from_value(Form form, void* memory, const Value& value) {
    switch (form) {
        case Form::Bool:
            if (!value.is_bool()) return false;
            store<bool>(memory, value.as_bool());
            return true;
        case Form::Int32:
        case Form::Enum:
            return integer_from_value<std::int32_t>(memory, value);
        case Form::Int64:
            return integer_from_value<std::int64_t>(memory, value);
        case Form::Uint32:
            return integer_from_value<std::uint32_t>(memory, value);
        case Form::Uint64:
            return integer_from_value<std::uint64_t>(memory, value);
        case Form::Double:
            if (!value.is_number()) return false;
            store<double>(memory, value.as_double());
            return true;
        case Form::String:
            if (!value.is_string()) return false;
            as<std::string>(memory) = value.as_string();
            return true;
        case Form::Bytes:
            return parsed_from_value<std::string>(memory, value, decode_base64);
        case Form::Quantity:
            return quantity_from_value(memory, value);
        case Form::IntOrString:
            return int_or_string_from_value(memory, value);
        case Form::Time:
            return parsed_from_value<Timestamp>(memory, value, Timestamp::parse);
        case Form::MicroTime:
            return parsed_from_value<MicroTimestamp>(memory, value, MicroTimestamp::parse);
        case Form::Duration:
            return parsed_from_value<std::chrono::nanoseconds>(memory, value, parse_duration);
        case Form::Raw:
        case Form::Json:
        case Form::FieldsV1:
            as<Value>(memory) = value;
            return true;
        case Form::Struct:
        case Form::Nested:
            break;
    }
    CHECK(!"a struct is not a scalar");
    return true;
}

bool scalar_is_zero(Form form, const void* memory) {
    switch (form) {
        case Form::Bool:
            return !load<bool>(memory);
        case Form::Int32:
        case Form::Uint32:
        case Form::Enum:
            return load<std::int32_t>(memory) == 0;
        case Form::Int64:
        case Form::Uint64:
            return load<std::int64_t>(memory) == 0;
        case Form::Double:
            return load<double>(memory) == 0;
        case Form::String:
        case Form::Bytes:
            return as<std::string>(memory).empty();
        case Form::Quantity:
            return as<Quantity>(memory).is_zero();
        case Form::IntOrString:
            return as<IntOrString>(memory).is_zero();
        case Form::Time:
            return as<Timestamp>(memory).is_zero();
        case Form::MicroTime:
            return as<MicroTimestamp>(memory).is_zero();
        case Form::Duration:
            return as<std::chrono::nanoseconds>(memory).count() == 0;
        case Form::Raw:
        case Form::Json:
        case Form::FieldsV1:
            return as<Value>(memory).is_null();
        case Form::Struct:
        case Form::Nested:
            return false;
    }
    return false;
}

bool scalar_is_empty(Form form, const void* memory) {
    const bool go_struct =
        form == Form::Quantity || form == Form::IntOrString || form == Form::Time || form == Form::MicroTime || form == Form::Duration;
    return !go_struct && scalar_is_zero(form, memory);
}

}  // namespace porthole::schema
