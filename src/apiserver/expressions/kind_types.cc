#include "apiserver/expressions/kind_types.h"

#include <map>
#include <string>

namespace porthole::apiserver {
namespace {

using cel::TypeRef;
using schema::Field;
using schema::Form;

/// Declares each struct once: structs may contain themselves.
class KindTypes {
public:
    KindTypes(cel::ObjectTypes& types, std::string prefix) : types_(types), prefix_(std::move(prefix)) {}

    cel::ObjectType& declare(const schema::Type& type, const std::string& name) {
        cel::ObjectType& made = types_.declare(prefix_ + name);
        declared_.emplace(&type, &made);
        for (const Field& field : type.fields) made.add(std::string(field.name), type_of(field), field.is(Field::Required));
        return made;
    }

private:
    TypeRef type_of(const Field& field) {
        if (field.is(Field::PreserveUnknown)) return cel::types::dyn();
        const TypeRef element = element_of(field);
        if (field.is_list()) return cel::types::list(element);
        return field.is_map() ? cel::types::map(cel::types::string(), element) : element;
    }
    TypeRef element_of(const Field& field) {
        switch (field.form) {
            case Form::Bool:
                return cel::types::boolean();
            case Form::Int32:
            case Form::Int64:
            case Form::Uint32:
            case Form::Uint64:
                return cel::types::integer();
            case Form::Double:
                return cel::types::real();
            case Form::String:
            case Form::Duration:
                return cel::types::string();
            case Form::Bytes:
                return cel::types::bytes();
            case Form::Time:
            case Form::MicroTime:
                return cel::types::timestamp();
            case Form::Nested:
                return type_of(*field.element);
            case Form::Struct:
                return struct_type(*field.type);
            default:
                return cel::types::dyn();
        }
    }
    TypeRef struct_type(const schema::Type& type) {
        using schema::Type;
        if (type.is(Type::PreserveUnknown) || type.is(Type::EmbeddedResource) || type.is(Type::Alternatives) || type.fields.empty())
            return cel::types::dyn();
        const auto known = declared_.find(&type);
        if (known != declared_.end()) return cel::types::object(*known->second);
        // Types of a custom resource need not have names of their own.
        return cel::types::object(declare(type, "." + std::string(type.name) + std::to_string(declared_.size())));
    }

    cel::ObjectTypes& types_;
    const std::string prefix_;
    std::map<const schema::Type*, const cel::ObjectType*> declared_;
};

}  // namespace

TypeRef declare_kind(cel::ObjectTypes& types, const schema::Kind& kind) {
    cel::ObjectType& root = KindTypes(types, std::string(kind.kind)).declare(*kind.type, "");
    for (const char* name : {"apiVersion", "kind"}) root.add(name, cel::types::string(), true);
    return cel::types::object(root);
}

}  // namespace porthole::apiserver
