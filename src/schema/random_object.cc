#include "schema/random_object.h"

#include <chrono>

#include "base/time/time.h"
#include "base/values/int_or_string.h"
#include "base/values/quantity.h"
#include "schema/access.h"
#include "schema/scalar.h"
#include "schema/value.h"

namespace porthole::schema {
namespace {
constexpr int DeepestStruct = 7;
}

Instance RandomObject::make(const Type& type) {
    Instance instance(type);
    fill(type, instance.get(), 0);
    return instance;
}

void RandomObject::fill(const Type& type, void* object, int depth) {
    if (type.is(Type::Alternatives)) return fill_alternatives(type, object, depth);
    for (const Field& field : type.fields) {
        if (below(3) > 0 || depth < 2) fill_member(field, member(object, field.offset), depth);
    }
}

void RandomObject::fill_alternatives(const Type& type, void* object, int depth) {
    const Field& chosen = type.fields[static_cast<std::size_t>(below(static_cast<int>(type.fields.size())))];
    for (const Field& field : type.fields) {
        void* memory = member(object, field.offset);
        if (field.form == Form::Bool) {
            store<bool>(memory, true);
        } else if (&field == &chosen) {
            if (field.is_list())
                fill_element(field, field.access->append(memory), depth + 1);
            else
                fill_element(field, field.access->emplace(memory), depth + 1);
        }
    }
}

void RandomObject::fill_member(const Field& field, void* memory, int depth) {
    const bool leaf = field.form == Form::Struct && depth >= DeepestStruct;
    if (field.is_single()) {
        if (!field.access) return fill_element(field, memory, depth);
        if (!leaf && below(4) > 0) fill_element(field, field.access->emplace(memory), depth);
        return;
    }
    if (leaf) return;
    for (int i = below(3); i > 0; --i) {
        void* element = field.is_list() ? field.access->append(memory) : field.access->insert(memory, text() + std::to_string(i));
        fill_element(field, element, depth);
    }
}

void RandomObject::fill_element(const Field& field, void* memory, int depth) {
    switch (field.form) {
        case Form::Bool:
            return store<bool>(memory, below(2) == 1);
        case Form::Int32:
            return store<std::int32_t>(memory, static_cast<std::int32_t>(random_()));
        case Form::Uint32:
            return store<std::uint32_t>(memory, random_());
        case Form::Enum:
            return store<std::int32_t>(memory, below(3));
        case Form::Int64:
            return store<std::int64_t>(memory, (static_cast<std::int64_t>(random_()) << 32) - random_());
        case Form::Uint64:
            return store<std::uint64_t>(memory, static_cast<std::uint64_t>(random_()) << below(31));
        case Form::Double:
            return store<double>(memory, below(1000) / 8.0);
        case Form::String:
        case Form::Bytes:
            *static_cast<std::string*>(memory) = text();
            return;
        case Form::Quantity:
            *static_cast<Quantity*>(memory) = Quantity::from_milli(below(100000) * 50);
            return;
        case Form::IntOrString:
            *static_cast<IntOrString*>(memory) = below(2) ? IntOrString(below(70000)) : IntOrString(text());
            return;
        case Form::Time:
            *static_cast<Timestamp*>(memory) = Timestamp::from_seconds(below(2'000'000'000));
            return;
        case Form::MicroTime:
            *static_cast<MicroTimestamp*>(memory) = MicroTimestamp::from_ticks(std::int64_t{below(2'000'000'000)} * 1'000'003);
            return;
        case Form::Duration:
            *static_cast<std::chrono::nanoseconds*>(memory) = std::chrono::nanoseconds(std::int64_t{below(2'000'000'000)} * 1000);
            return;
        case Form::Raw:
        case Form::Json:
        case Form::FieldsV1:
            *static_cast<Value*>(memory) = Value::object({{"f:" + text(), Value::array({1, "two", nullptr, true})}, {"k", 2.5}});
            return;
        case Form::Struct:
            return fill(*field.type, memory, depth + 1);
        case Form::Nested:
            return fill_member(*field.element, memory, depth + 1);
    }
}

std::string RandomObject::text() {
    static constexpr const char* pieces[] = {"a", "Z", "-", "7", "\"", "\\", "\n", "\xC3\xA4", "\xE2\x82\xAC", "\xF0\x9F\x90\x8B",
                                             "/", "\t"};
    std::string result = "t";
    for (int i = below(6); i > 0; --i) result += pieces[below(std::size(pieces))];
    return result;
}

}  // namespace porthole::schema
