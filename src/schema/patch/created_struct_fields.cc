#include <map>

#include "schema/access.h"
#include "schema/compare.h"
#include "schema/convert_member.h"
#include "schema/json/json.h"
#include "schema/patch/field_walk.h"
#include "schema/scalar.h"
#include "schema/scalars.h"

namespace porthole::schema {
namespace {

bool is_written(const Field& field, const void* memory) { return !field.is(Field::OmitEmpty) || !member_is_absent(field, memory); }

/// What CreatedFields in field_walk.cc writes of the struct's tree. The members are found by the tables, which have them in the order of
/// the steps, so that nothing is searched or sorted.
class CreatedStructFields {
public:
    explicit CreatedStructFields(std::string& out) : out_(out) {}

    /// The members of a struct. `blank`: a blank one to compare with, or null; `unowned`: what nobody owns, or null. False where the struct
    /// has no member at all.
    bool members(const Type& type, const void* blank, const void* object, const FieldSet* unowned) {
        bool has_any = false;
        for (const std::uint16_t at : type.by_name) {
            const Field& field = type.fields[at];
            const void* memory = member(object, field.offset);
            if (!is_written(field, memory)) continue;
            has_any = true;
            const FieldSet* below = unowned ? find_member(*unowned, field.name) : nullptr;
            if (below && below->is_member()) continue;
            const void* was = blank ? member(blank, field.offset) : nullptr;
            if (was && !is_written(field, was)) was = nullptr;
            if (was && equal_members(field, was, memory)) continue;
            const std::size_t begin = begin_step();
            out_.append("\"f:").append(field.name).append("\":");  // needs no escaping
            if (!value(field, was, memory, below)) out_.resize(begin);
        }
        return has_any;
    }

private:
    static const FieldSet* find_member(const FieldSet& set, std::string_view name) {
        for (const auto& [step, below] : set.children())
            if (std::string_view(step).substr(2) == name) return &below;
        return nullptr;
    }

    /// The value of a member, or the nested list or map that is an item. `was` as `blank`. False, with nothing written, where nobody owns
    /// any of it.
    bool value(const Field& field, const void* was, const void* memory, const FieldSet* unowned) {
        if (!field.is_single()) {
            const bool is_leaf = field.is_list() ? field.list_type == ListType::Atomic : field.is(Field::AtomicMap);
            if (is_leaf || field.access->size(memory) == 0) return leaf(unowned);
            const bool is_new = !was && !unowned;
            return granular(is_new, [&] { field.is_list() ? items(field, memory) : entries(field, memory); });
        }
        const void* found = field.access ? field.access->get(memory) : memory;
        if (!found || field.form != Form::Struct || field.is(Field::AtomicMap)) return leaf(unowned);
        const bool was_null = was && field.access && !field.access->get(was);
        return structure(*field.type, was != nullptr, was_null ? nullptr : was, found, unowned);
    }

    /// `was_there`: it is not new, though its blank form may be null.
    bool structure(const Type& type, bool was_there, const void* blank, const void* object, const FieldSet* unowned) {
        if (type.is(Type::Atomic) || type.is(Type::Alternatives)) return leaf(unowned);
        const bool is_new = !was_there && !unowned;
        bool has_members = false;
        if (granular(is_new, [&] { has_members = members(type, blank, object, unowned); })) return true;
        return !has_members && was_there && !blank && leaf(unowned);
    }

    bool element(const Field& field, const void* memory) {
        if (field.form == Form::Nested) return value(*field.element, nullptr, memory, nullptr);
        return field.form == Form::Struct ? structure(*field.type, false, nullptr, memory, nullptr) : leaf(nullptr);
    }

    bool leaf(const FieldSet* unowned) {
        if (unowned) return false;
        out_ += "{}";
        return true;
    }

    /// What has members or items of its own. `is_new`: it is a field itself, even if nothing is written below.
    template <class Below>
    bool granular(bool is_new, Below below) {
        const std::size_t begin = out_.size();
        out_ += is_new ? R"({".":{})" : "{";
        const std::size_t first = out_.size();
        below();
        if (out_.size() > first) {
            out_ += '}';
            return true;
        }
        out_.resize(begin);
        return is_new && leaf(nullptr);
    }

    void entries(const Field& field, const void* memory) {
        std::pair context(this, &field);
        field.access->visit(memory, &context, [](void* raw, const std::string& key, const void* value) {
            const auto& [self, field] = *static_cast<decltype(context)*>(raw);
            self->step("f:", key);
            self->element(*field, value);
            return true;
        });
    }

    void items(const Field& field, const void* memory) {
        std::map<std::string, const void*> ordered;
        for (std::size_t i = 0; i < field.access->size(memory); ++i) {
            const void* item = field.access->get_at(memory, i);
            if (auto step = step_of(field, item)) ordered.emplace(*std::move(step), item);  // of twins the first counts
        }
        for (const auto& [name, item] : ordered) {
            step("", name);
            element(field, item);
        }
    }

    static Value item_to_value(const Field& list, const void* item) {
        if (list.form == Form::Struct) return to_value(*list.type, item);
        return list.form == Form::Nested ? member_to_value(*list.element, item) : scalar_to_value(list.form, item);
    }

    static Result<std::string> step_of(const Field& list, const void* item) {
        if (list.list_type == ListType::Map && list.form == Form::Struct && list.list_keys().size() == 1) {
            const std::string_view name = list.list_keys().front();
            const Field* key = list.type->find_field(name);
            const void* memory = key ? member(item, key->offset) : nullptr;
            if (key && key->is_single() && !key->access && key->form == Form::String && is_written(*key, memory)) {
                std::string step = "k:{\"";
                step.append(name).append("\":");
                append_json_string(*static_cast<const std::string*>(memory), step);
                step += '}';
                return step;
            }
        }
        return schema::step_of(Node::of_member(list), item_to_value(list, item));
    }

    std::size_t begin_step() {
        const std::size_t begin = out_.size();
        if (out_.back() != '{') out_ += ',';
        return begin;
    }

    void step(std::string_view prefix, std::string_view name) {
        begin_step();
        const std::size_t quote = out_.size();
        append_json_string(name, out_);
        out_.insert(quote + 1, prefix);
        out_ += ':';
    }

    std::string& out_;
};

}  // namespace

bool append_created_fields(const Kind& kind, const Instance& object, const FieldSet& unowned, std::string& out) {
    const Instance blank(*kind.type);
    const std::size_t begin = out.size();
    out += '{';
    CreatedStructFields(out).members(*kind.type, blank.get(), object.get(), &unowned);
    if (out.size() == begin + 1) {
        out.resize(begin);
        return false;
    }
    out += '}';
    return true;
}

}  // namespace porthole::schema
