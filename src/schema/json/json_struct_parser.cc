#include "schema/json/json_struct_parser.h"

#include <boost/json/basic_parser_impl.hpp>

#include <algorithm>
#include <bitset>
#include <charconv>
#include <cmath>

#include "schema/access.h"
#include "schema/decode_budget.h"
#include "schema/findings.h"
#include "schema/json/json.h"
#include "schema/json/json_errors.h"
#include "schema/scalar.h"
#include "schema/scalars.h"

namespace porthole::schema {
namespace {

namespace json = boost::json;

/// type.find_field(), quicker where members come in the order of the schema, as all do that was written by its tables. `last` is the field
/// of the member before, or null.
const Field* find_next_field(const Type& type, const Field* last, std::string_view name) {
    constexpr std::size_t Ahead = 8;  // most members may be left out
    const auto first = last ? static_cast<std::size_t>(last - type.fields.data()) + 1 : 0;
    for (const Field& field : type.fields.subspan(first, std::min(Ahead, type.fields.size() - first)))
        if (field.name == name) return &field;
    return type.find_field(name);
}

/// Turns the parser's events into stores. A level is a struct, list or map being read; what the schema does not know is skipped
/// by counting brackets, and what it does not look into is collected as text and parsed as a tree.
class StructBuilder {
public:
    static constexpr std::size_t max_object_size = static_cast<std::size_t>(-1);
    static constexpr std::size_t max_array_size = static_cast<std::size_t>(-1);
    static constexpr std::size_t max_key_size = static_cast<std::size_t>(-1);
    static constexpr std::size_t max_string_size = static_cast<std::size_t>(-1);

    StructBuilder(const Type& type, void* object, StructFindings* findings)
        : object_(object), findings_(findings), budget_(findings ? DecodeBudget(DecodeBudget::OfRequest) : DecodeBudget()) {
        root_.form = Form::Struct;
        root_.type = &type;
    }

    const std::optional<Error>& error() const { return error_; }
    bool needs_tree() const { return needs_tree_; }

    bool on_document_begin(json::error_code&) { return true; }
    bool on_document_end(json::error_code&) { return true; }
    bool on_object_begin(json::error_code& code) { return begin(false, code); }
    bool on_array_begin(json::error_code& code) { return begin(true, code); }
    bool on_object_end(std::size_t, json::error_code&) { return end('}'); }
    bool on_array_end(std::size_t, json::error_code&) { return end(']'); }

    bool on_key_part(json::string_view part, std::size_t, json::error_code&) { return buffer(part); }
    bool on_key(json::string_view part, std::size_t, json::error_code& code) {
        buffer(part);
        if (opaque_depth_ > 0) {
            separate();
            append_json_string(text_, opaque_);
            opaque_ += ':';
            opaque_first_ = true;
        } else if (skip_depth_ == 0) {
            key();
        }
        text_.clear();
        return go_on(code);
    }
    bool on_string_part(json::string_view part, std::size_t, json::error_code&) { return buffer(part); }
    bool on_string(json::string_view part, std::size_t, json::error_code& code) {
        buffer(part);
        const bool direct = skip_depth_ == 0 && opaque_depth_ == 0;
        if (direct)
            string();
        else if (opaque_depth_ > 0)
            opaque_value(Value(text_));
        text_.clear();
        return go_on(code);
    }
    bool on_number_part(json::string_view part, json::error_code&) { return buffer(part); }
    bool on_int64(std::int64_t number, json::string_view, json::error_code& code) {
        text_.clear();
        return scalar(number, code);
    }
    bool on_uint64(std::uint64_t number, json::string_view, json::error_code& code) {
        text_.clear();
        if (number <= INT64_MAX) return scalar(static_cast<std::int64_t>(number), code);
        return scalar(static_cast<double>(number), code);
    }
    bool on_double(double approximate, json::string_view part, json::error_code& code) {
        buffer(part);
        double number = approximate;
        std::from_chars(text_.data(), text_.data() + text_.size(), number);
        text_.clear();
        if (std::isfinite(number)) return scalar(number, code);
        code = json::error::exponent_overflow;
        return false;
    }
    bool on_bool(bool value, json::error_code& code) { return scalar(value, code); }
    bool on_null(json::error_code& code) { return scalar(Value(), code); }
    bool on_comment_part(json::string_view, json::error_code&) { return true; }
    bool on_comment(json::string_view, json::error_code&) { return true; }

private:
    enum class Kind { Struct, List, Map };
    enum class Meta { None, ApiVersion, KindName };

    struct Level {
        Kind kind;
        const Type* type = nullptr;      // of a struct
        const Field* field = nullptr;    // of a list or map: what its elements are
        void* memory = nullptr;          // the struct or the container
        const Field* current = nullptr;  // of a struct: the member whose value comes next; nullptr to skip it
        Meta meta = Meta::None;          // of the top: the member is apiVersion or kind
        std::string name;                // of a map: the key; of a struct: an unknown member's name
        std::bitset<64> seen;            // members that have come, by index
    };

    /// Where the next value goes. `container`: the whole list or map of the field is expected, and not one element.
    struct Slot {
        const Field* field = nullptr;
        void* memory = nullptr;
        bool container = false;
    };

    bool buffer(json::string_view part) {
        text_.append(part.data(), part.size());
        return true;
    }

    bool go_on(json::error_code& code) {
        if (!error_ && !needs_tree_) return true;
        code = json::error::syntax;  // ends the parse; the caller asks error() first
        return false;
    }

    void key() {
        Level& level = levels_.back();
        if (level.kind == Kind::Map) {
            level.name = text_;
            if (findings_ && level.field->access->find(level.memory, text_))
                add_finding(findings_->duplicates, [this] { return strict_path(); });
            return;
        }
        level.meta = Meta::None;
        level.current = find_next_field(*level.type, level.current, text_);
        if (!level.current) return unknown(level);
        if (!findings_) return;
        const auto index = static_cast<std::size_t>(level.current - level.type->fields.data());
        if (index >= level.seen.size()) return;
        if (level.seen[index]) add_finding(findings_->duplicates, [this] { return strict_path(); });
        level.seen[index] = true;
    }

    void unknown(Level& level) {
        const bool top = levels_.size() == 1;
        if (top && text_ == "apiVersion")
            level.meta = Meta::ApiVersion;
        else if (top && text_ == "kind")
            level.meta = Meta::KindName;
        if (level.meta != Meta::None || !findings_) return;
        level.name = text_;
        add_finding(findings_->unknown, [this] { return strict_path(); });
    }

    /// False where the value is to be skipped.
    bool find_slot(Slot& slot) {
        if (levels_.empty()) {
            slot = {&root_, object_, false};
            return true;
        }
        Level& level = levels_.back();
        if (level.kind == Kind::Struct) {
            if (!level.current) return false;
            slot = {level.current, static_cast<char*>(level.memory) + level.current->offset, !level.current->is_single()};
            return true;
        }
        if (!take(*level.field->access)) return false;
        void* element = level.kind == Kind::List ? level.field->access->append(level.memory)
                                                 : level.field->access->insert(level.memory, std::string(level.name));
        slot = {level.field, element, false};
        if (slot.field->form == Form::Nested) slot = {level.field->element, element, true};
        return true;
    }

    /// An optional member gets its value when one comes.
    void* storage(const Slot& slot) {
        const bool optional = slot.field->is_single() && slot.field->access;
        if (!optional) return slot.memory;
        take(*slot.field->access);
        return slot.field->access->emplace(slot.memory);
    }

    bool take(const Access& access) {
        if (auto taken = budget_.take(access); !taken) error_ = std::move(taken).error();
        return !error_;
    }

    bool begin(bool array, json::error_code& code) {
        if (skip_depth_ > 0) {
            ++skip_depth_;
        } else if (opaque_depth_ > 0) {
            separate();
            opaque_ += array ? '[' : '{';
            opaque_first_ = true;
            ++opaque_depth_;
        } else if (Slot slot; !find_slot(slot)) {
            skip_depth_ = 1;
        } else {
            open(slot, array);
        }
        return go_on(code);
    }

    void open(const Slot& slot, bool array) {
        const Field& field = *slot.field;
        if (slot.container) {
            if (array != field.is_list()) return mismatch(array ? Value(Array()) : Value(Object()), field, false);
            field.access->clear(slot.memory);
            return push(field.is_list() ? Kind::List : Kind::Map, nullptr, &field, slot.memory);
        }
        if (is_opaque(field.form)) {
            opaque_target_ = static_cast<Value*>(storage(slot));
            opaque_ = array ? "[" : "{";
            opaque_first_ = true;
            opaque_depth_ = 1;
            return;
        }
        if (field.form != Form::Struct) return mismatch(array ? Value(Array()) : Value(Object()), field, true);
        if (field.type->is(Type::Alternatives)) {
            needs_tree_ = true;
            return;
        }
        if (array) return mismatch(Value(Array()), field, true);
        push(Kind::Struct, field.type, nullptr, storage(slot));
    }

    void push(Kind kind, const Type* type, const Field* field, void* memory) {
        Level& level = levels_.emplace_back();
        level.kind = kind;
        level.type = type;
        level.field = field;
        level.memory = memory;
    }

    bool end(char bracket) {
        if (skip_depth_ > 0) {
            --skip_depth_;
        } else if (opaque_depth_ > 0) {
            opaque_ += bracket;
            opaque_first_ = false;
            if (--opaque_depth_ == 0) *opaque_target_ = parse_json(opaque_).value_or(Value());
        } else {
            levels_.pop_back();
        }
        return true;
    }

    void separate() {
        if (!opaque_first_) opaque_ += ',';
        opaque_first_ = false;
    }

    void opaque_value(const Value& value) {
        separate();
        append_json(value, opaque_);
    }

    bool scalar(Value value, json::error_code& code) {
        if (skip_depth_ > 0) return true;
        if (opaque_depth_ > 0)
            opaque_value(value);
        else
            store(value);
        return go_on(code);
    }

    void string() {
        Level* level = levels_.empty() ? nullptr : &levels_.back();
        if (level && level->meta != Meta::None) {
            if (findings_) (level->meta == Meta::ApiVersion ? findings_->api_version : findings_->kind) = text_;
            return;
        }
        Slot slot;
        if (!find_slot(slot)) return;
        if (!slot.container && slot.field->form == Form::String) {
            *static_cast<std::string*>(storage(slot)) = text_;
            return;
        }
        store_in(slot, Value(text_));
    }

    void store(const Value& value) {
        Slot slot;
        if (find_slot(slot)) store_in(slot, value);
    }

    void store_in(const Slot& slot, const Value& value) {
        const Field& field = *slot.field;
        if (levels_.empty()) return mismatch(value, field, true);
        if (value.is_null() && (slot.container || !is_opaque(field.form))) return;
        if (slot.container || (field.form == Form::Struct && !field.type->is(Type::Alternatives)))
            return mismatch(value, field, !slot.container);
        if (field.form == Form::Struct) {
            needs_tree_ = true;
            return;
        }
        auto fits = scalar_from_value(field.form, storage(slot), value);
        if (!fits)
            error_ = std::move(fits).error();
        else if (!*fits)
            mismatch(value, field, true);
    }

    void mismatch(const Value& value, const Field& field, bool element) {
        std::string_view owner;
        for (const Level& level : levels_)
            if (level.kind == Kind::Struct) owner = level.type->name;
        error_ = type_error(value, owner, go_path(), field, element);
    }

    /// "spec.containers.image"
    std::string go_path() const {
        std::string path;
        for (const Level& level : levels_) {
            if (level.kind != Kind::Struct || !level.current) continue;
            if (!path.empty()) path += '.';
            path += level.current->name;
        }
        return path;
    }

    /// "spec.containers[0].image", of the member or key just read.
    std::string strict_path() const {
        std::string path;
        for (const Level& level : levels_) {
            if (level.kind == Kind::List) {
                path += "[" + std::to_string(level.field->access->size(level.memory) - 1) + "]";
                continue;
            }
            if (!path.empty()) path += '.';
            path += level.kind == Kind::Struct && level.current ? std::string(level.current->name) : level.name;
        }
        return path;
    }

    void* object_;
    StructFindings* findings_;
    Field root_;
    std::vector<Level> levels_;
    std::string text_;
    int skip_depth_ = 0;
    int opaque_depth_ = 0;
    bool opaque_first_ = true;
    std::string opaque_;
    Value* opaque_target_ = nullptr;
    DecodeBudget budget_;
    std::optional<Error> error_;
    bool needs_tree_ = false;
};

}  // namespace

Result<StructParse> parse_json_struct(const Type& type, void* object, std::string_view text, StructFindings* findings) {
    if (type.is(Type::Alternatives)) return StructParse::NeedsTree;
    json::parse_options options;
    options.max_depth = JsonLimits().depth;
    json::basic_parser<StructBuilder> parser(options, type, object, findings);
    json::error_code code;
    const std::size_t used = parser.write_some(false, text.data(), text.size(), code);
    if (parser.handler().needs_tree()) return StructParse::NeedsTree;
    if (parser.handler().error()) return *parser.handler().error();
    if (code) return json_syntax_error(text, used, code);
    TRY_VOID(check_nothing_follows(text, used));
    return StructParse::Done;
}

Result<void> decode_json(const Type& type, void* object, std::string_view text) {
    TRY(const StructParse parse, parse_json_struct(type, object, text, nullptr));
    if (parse == StructParse::Done) return {};
    TRY(const Value value, parse_json(text));
    return from_value(type, object, value);
}

}  // namespace porthole::schema
