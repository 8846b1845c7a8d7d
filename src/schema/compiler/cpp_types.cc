#include "schema/compiler/cpp_types.h"

#include <map>

#include "schema/compiler/names.h"

namespace porthole::schemac {
namespace {

struct Scalar {
    const char* cpp;
    const char* initializer;
    const char* form;
};

const Scalar& scalar(const std::string& name) {
    static const std::map<std::string, Scalar> scalars = {
        {"bool", {"bool", " = false", "Bool"}},
        {"int32", {"std::int32_t", " = 0", "Int32"}},
        {"int64", {"std::int64_t", " = 0", "Int64"}},
        {"uint32", {"std::uint32_t", " = 0", "Uint32"}},
        {"uint64", {"std::uint64_t", " = 0", "Uint64"}},
        {"double", {"double", " = 0", "Double"}},
        {"string", {"std::string", "", "String"}},
        {"bytes", {"std::string", "", "Bytes"}},
        {"Quantity", {"::porthole::Quantity", "", "Quantity"}},
        {"IntOrString", {"::porthole::IntOrString", "", "IntOrString"}},
        {"Time", {"::porthole::Timestamp", "", "Time"}},
        {"MicroTime", {"::porthole::MicroTimestamp", "", "MicroTime"}},
        {"Duration", {"std::chrono::nanoseconds", "{0}", "Duration"}},
        {"RawExtension", {"::porthole::schema::Value", "", "Raw"}},
        {"JSON", {"::porthole::schema::Value", "", "Json"}},
        {"FieldsV1", {"::porthole::schema::Value", "", "FieldsV1"}},
    };
    return scalars.at(name);
}

CppField string_list(const Field& field) {
    CppField result;
    const std::string list = "std::vector<std::string>";
    result.wrapped_list = true;
    if (field.shape == Shape::Map) {
        result.member_type = "std::map<std::string, " + list + ">";
        result.form = "Nested";
        result.access = "map_access";
        result.element = true;
    } else {
        result.member_type = list;
        result.form = "String";
        result.access = "list_access";
        result.list_shape = true;
    }
    return result;
}

}  // namespace

CppField cpp_field(const Field& field) {
    if (field.target && field.target->string_list) return string_list(field);
    CppField result;
    std::string value;
    if (field.target) {
        value = qualified(*field.target);
        result.form = "Struct";
    } else if (!is_scalar(field.type)) {
        value = field.enumeration->name;
        result.initializer = "{}";
        result.form = "Enum";
    } else {
        value = scalar(field.type).cpp;
        result.initializer = scalar(field.type).initializer;
        result.form = scalar(field.type).form;
    }
    const bool opaque = value == "::porthole::schema::Value";
    if (field.shape == Shape::List) {
        // std::vector<bool> has no elements to point at.
        result.member_type = "std::vector<" + (value == "bool" ? "std::uint8_t" : value) + ">";
        result.access = "list_access";
    } else if (field.shape == Shape::Map) {
        result.member_type = "std::map<std::string, " + value + ">";
        result.access = "map_access";
    } else if (field.pointer && !opaque) {
        // A struct that may be absent mostly is: a Volume with room for every source in place would take 4.5 kB.
        result.member_type = (field.is_boxed() ? "::porthole::schema::Box<" : "std::optional<") + value + ">";
        result.access = "optional_access";
    } else {
        result.member_type = value;
        return result;
    }
    result.initializer.clear();
    return result;
}

}  // namespace porthole::schemac
