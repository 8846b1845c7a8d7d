#include "schema/structural/schema_validator.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <ranges>
#include <unordered_set>

#include <fmt/format.h>

#include "base/strings.h"
#include "schema/json/json.h"
#include "schema/path_step.h"
#include "schema/structural/items_by_key.h"
#include "schema/structural/schema_node.h"

namespace porthole::schema {
namespace {

constexpr const char* NoPath = "<nil>";  ///< where upstream's errors of combined schemas are
// What one object may cost (MostVisits): a schema of a megabyte, most of it alternatives, times a list of a million items would take
// minutes.
constexpr std::size_t MostErrors = 1000;
// What takes as long as a visit.
constexpr std::size_t ComparisonsInVisit = 16;
constexpr std::size_t BytesInVisit = 64;
constexpr std::size_t MostValuesTold = 100;  ///< of an enumeration

std::string_view type_of_value(const Value& value) {
    if (value.is_bool()) return "boolean";
    if (value.is_int()) return "integer";
    if (value.is_double()) return "number";
    if (value.is_array()) return "array";
    if (value.is_object()) return "object";
    return value.is_null() ? "null" : "string";
}

bool is_whole(const Value& value) { return value.is_int() || (value.is_double() && std::trunc(value.as_double()) == value.as_double()); }

bool has_type(const Value& value, const SchemaNode& node) {
    if (node.int_or_string) return value.is_string() || is_whole(value);
    if (node.type.empty()) return true;
    if (node.type == "integer") return value.is_number() && is_whole(value);
    if (node.type == "number") return value.is_number();
    return type_of_value(value) == node.type;
}

std::int64_t character_count(std::string_view text) {
    return std::ranges::count_if(text, [](char c) { return (c & 0xC0) != 0x80; });
}

std::string plain_number(double number) { return to_json(Value(number)); }

/// Whether `number` is in what the format of a number can hold.
bool in_range_of(const Value& number, std::string_view format) {
    const double value = number.as_double();
    if (format == "int32") return value >= INT32_MIN && value <= INT32_MAX;
    if (format == "uint32") return value >= 0 && value <= UINT32_MAX;
    if (format == "uint64") return value >= 0;
    if (format == "float" || format == "float32") return std::fabs(value) <= 3.4028234663852886e38;
    return true;
}

/// Walks an object and its schema. With an old object, equal parts are left alone.
class Walker {
public:
    /// `budget` is how many more nodes may be visited, shared by all walks on one object.
    Walker(FieldErrors& errors, bool ratchets, std::size_t& budget) : errors_(errors), ratchets_(ratchets), budget_(budget) {}

    /// Which of several schemas was meant is told by how far it went.
    std::size_t visited() const { return visited_; }

    void value(const Value& value, const Value* old, const SchemaNode& node, const PathStep& path) {
        if (budget_ == 0 || errors_.size() >= MostErrors) return;
        --budget_;
        ++visited_;
        if (ratchets_ && old && *old == value) return;
        if (value.is_null()) {
            if (!node.nullable) wrong_type(value, node, path);
            return enumeration(value, node, path);
        }
        if (!has_type(value, node)) wrong_type(value, node, path);
        if (node.rules) combined(value, old, *node.rules, path);
        if (node.rules && value.is_string()) text(value, *node.rules, path);
        if (node.rules && value.is_number()) number(value, node, path);
        if (value.is_array()) list(value, old, node, path);
        enumeration(value, node, path);
        if (value.is_object()) object(value, old, node, path);
    }

private:
    void wrong_type(const Value& value, const SchemaNode& node, const PathStep& path) {
        if (node.type.empty() && !node.int_or_string) return;
        const std::string_view wanted = node.int_or_string ? std::string_view("integer,string") : std::string_view(node.type);
        const std::string where = path.strict_text();
        errors_.type_invalid(where, type_of_value(value),
                             fmt::format("{} in body must be of type {}: {}", where, wanted, quote(type_of_value(value))));
    }

    void invalid(const PathStep& path, const Value& bad, const std::string& detail) {
        const std::string where = path.strict_text();
        errors_.invalid(where, bad, where + " in body " + detail);
    }

    /// Counts what is longer than a visit. False when the object has cost too much.
    bool spend(std::size_t visits) {
        const bool enough = visits < budget_;
        budget_ = enough ? budget_ - visits : 0;
        return enough;
    }

    void enumeration(const Value& value, const SchemaNode& node, const PathStep& path) {
        if (!node.rules || node.rules->enumeration.empty()) return;
        const Array& known = node.rules->enumeration;
        if (!spend(known.size() / ComparisonsInVisit) || std::ranges::find(known, value) != known.end()) return;
        std::vector<std::string> texts;
        for (const Value& one : known | std::views::take(MostValuesTold)) texts.push_back(one.is_string() ? one.as_string() : to_json(one));
        errors_.not_supported(path.strict_text(), value, std::vector<std::string_view>(texts.begin(), texts.end()));
    }

    void text(const Value& value, const SchemaNode::ValueRules& node, const PathStep& path) {
        const std::string& text = value.as_string();
        if ((node.regex || node.string_format) && !spend(text.size() / BytesInVisit)) return;
        if (node.max_length && character_count(text) > *node.max_length)
            errors_.too_long(path.strict_text(), static_cast<std::size_t>(*node.max_length));
        if (node.min_length && character_count(text) < *node.min_length)
            invalid(path, value, fmt::format("should be at least {} chars long", *node.min_length));
        if (node.regex && !node.regex->search(text)) invalid(path, value, fmt::format("should match '{}'", node.pattern));
        if (node.string_format && !node.string_format(text)) {
            const std::string where = path.strict_text();
            errors_.type_invalid(where, value, fmt::format("{} in body must be of type {}: {}", where, node.format, quote(text)));
        }
    }

    void number(const Value& value, const SchemaNode& node, const PathStep& path) {
        const SchemaNode::ValueRules& rules = *node.rules;
        const double number = value.as_double();
        if (!in_range_of(value, rules.format)) {
            errors_.invalid(
                NoPath, "",
                fmt::format("Checked value must be of type {} with format {} in {}", node.type, rules.format, path.strict_text()));
        }
        if (rules.multiple_of && *rules.multiple_of > 0) {
            const double quotient = number / *rules.multiple_of;
            if (std::trunc(quotient) != quotient) invalid(path, value, "should be a multiple of " + plain_number(*rules.multiple_of));
        }
        if (rules.maximum && (rules.exclusive_maximum ? number >= *rules.maximum : number > *rules.maximum))
            invalid(path, value,
                    (rules.exclusive_maximum ? "should be less than " : "should be less than or equal to ") + plain_number(*rules.maximum));
        if (rules.minimum && (rules.exclusive_minimum ? number <= *rules.minimum : number < *rules.minimum))
            invalid(path, value,
                    (rules.exclusive_minimum ? "should be greater than " : "should be greater than or equal to ") +
                        plain_number(*rules.minimum));
    }

    void list(const Value& value, const Value* old, const SchemaNode& node, const PathStep& path) {
        const Array& items = value.as_array();
        const auto size = static_cast<std::int64_t>(items.size());
        const SchemaNode::ValueRules* rules = node.rules.get();
        if (node.items) {
            const ItemsByKey old_items(node, ratchets_ ? old : nullptr);
            for (std::size_t i = 0; i < items.size(); ++i) this->value(items[i], old_items.find(items[i]), *node.items, path.index(i));
        }
        if (rules && rules->min_items && size < *rules->min_items)
            invalid(path, size, fmt::format("should have at least {} items", *rules->min_items));
        if (rules && rules->max_items && size > *rules->max_items)
            errors_.too_many(path.strict_text(), items.size(), static_cast<std::size_t>(*rules->max_items));
    }

    void object(const Value& value, const Value* old, const SchemaNode& node, const PathStep& path) {
        const Object& members = value.as_object();
        const auto size = static_cast<std::int64_t>(members.size());
        const SchemaNode::ValueRules* rules = node.rules.get();
        if (rules && rules->min_properties && size < *rules->min_properties)
            invalid(path, size, fmt::format("should have at least {} properties", *rules->min_properties));
        if (rules && rules->max_properties && size > *rules->max_properties)
            errors_.too_many(path.strict_text(), members.size(), static_cast<std::size_t>(*rules->max_properties));
        for (const Member& member : members) {
            const SchemaNode* schema = node.find_property(member.key);
            if (!schema) schema = node.additional_properties.get();
            if (schema) this->value(member.value, old ? old->find(member.key) : nullptr, *schema, path.child(member.key));
        }
        if (!spend(node.required.size() / ComparisonsInVisit)) return;
        for (const std::string& name : node.required)
            if (errors_.size() < MostErrors && !members.contains(name)) errors_.required(path.child(name).strict_text());
    }

    // --- Combined schemas ---

    struct Attempt {
        FieldErrors errors;
        std::size_t visited = 0;
    };
    Attempt attempt(const Value& value, const Value* old, const SchemaNode& node, const PathStep& path) const {
        Attempt attempt;
        Walker walker(attempt.errors, ratchets_, budget_);
        walker.value(value, old, node, path);
        attempt.visited = walker.visited();
        return attempt;
    }

    void combined(const Value& value, const Value* old, const SchemaNode::ValueRules& node, const PathStep& path) {
        const auto complain = [&](const std::string& what) { errors_.invalid(NoPath, "", quote(path.strict_text()) + " must " + what); };
        if (!node.any_of.empty()) any_of(value, old, node, path, complain);
        if (!node.one_of.empty()) one_of(value, old, node, path, complain);
        if (!node.all_of.empty()) all_of(value, old, node, path, complain);
        if (node.not_ && attempt(value, old, *node.not_, path).errors.empty()) complain("not validate the schema (not)");
    }

    /// The errors of the schema that fitted best are of help, too.
    static void keep_best(Attempt candidate, std::optional<Attempt>& best) {
        if (!best || candidate.visited > best->visited) best = std::move(candidate);
    }

    template <class Complain>
    void any_of(const Value& value, const Value* old, const SchemaNode::ValueRules& node, const PathStep& path, Complain complain) {
        std::optional<Attempt> best;
        for (const auto& schema : node.any_of) {
            Attempt one = attempt(value, old, *schema, path);
            if (one.errors.empty()) return;
            keep_best(std::move(one), best);
        }
        complain("validate at least one schema (anyOf)");
        errors_.append(std::move(best->errors));
    }

    template <class Complain>
    void one_of(const Value& value, const Value* old, const SchemaNode::ValueRules& node, const PathStep& path, Complain complain) {
        std::optional<Attempt> best;
        std::size_t valid = 0;
        for (const auto& schema : node.one_of) {
            Attempt one = attempt(value, old, *schema, path);
            if (one.errors.empty())
                ++valid;
            else
                keep_best(std::move(one), best);
        }
        if (valid == 1) return;
        complain("validate one and only one schema (oneOf). " +
                 (valid == 0 ? std::string("Found none valid") : fmt::format("Found {} valid alternatives", valid)));
        if (valid == 0) errors_.append(std::move(best->errors));
    }

    template <class Complain>
    void all_of(const Value& value, const Value* old, const SchemaNode::ValueRules& node, const PathStep& path, Complain complain) {
        std::size_t valid = 0;
        FieldErrors found;
        for (const auto& schema : node.all_of) {
            Attempt one = attempt(value, old, *schema, path);
            if (one.errors.empty()) ++valid;
            found.append(std::move(one.errors));
        }
        if (valid == node.all_of.size()) return;
        errors_.append(std::move(found));
        complain(valid == 0 ? "validate all the schemas (allOf). None validated" : "validate all the schemas (allOf)");
    }

    FieldErrors& errors_;
    bool ratchets_;
    std::size_t& budget_;
    std::size_t visited_ = 0;
};

/// What a schema cannot say by its values: lists whose items must differ, and embedded resources, which must be named.
class ExtensionWalker {
public:
    ExtensionWalker(FieldErrors& errors, bool ratchets) : errors_(errors), ratchets_(ratchets) {}

    void value(const Value& value, const Value* old, const SchemaNode& node, const PathStep& path) {
        if (ratchets_ && old && *old == value) return;
        if (value.is_array()) {
            if (node.list_type != ListType::Atomic) duplicates(value.as_array(), node, path);
            if (!node.items) return;
            const ItemsByKey old_items(node, ratchets_ ? old : nullptr);
            for (std::size_t i = 0; i < value.as_array().size(); ++i)
                this->value(value.as_array()[i], old_items.find(value.as_array()[i]), *node.items, path.index(i));
        } else if (value.is_object()) {
            if (node.embedded_resource) embedded(value, path);
            for (const Member& member : value.as_object()) {
                const SchemaNode* schema = node.find_property(member.key);
                if (!schema) schema = node.additional_properties.get();
                if (schema) this->value(member.value, old ? old->find(member.key) : nullptr, *schema, path.child(member.key));
            }
        }
    }

private:
    void duplicates(const Array& items, const SchemaNode& node, const PathStep& path) {
        std::unordered_set<std::string> seen;
        for (std::size_t i = 0; i < items.size(); ++i) {
            Value identity = items[i];
            if (node.list_type == ListType::Map) {
                identity = Value::object();
                for (const std::string& key : node.list_keys)
                    if (const Value* found = items[i].find(key)) identity[key] = *found;
            }
            if (!seen.insert(to_json(identity)).second) errors_.duplicate(path.index(i).text(), identity);
        }
    }

    void embedded(const Value& value, const PathStep& path) {
        for (const char* name : {"apiVersion", "kind"})
            if (value.string_at({name}).empty()) errors_.required(path.child(name).text(), "must not be empty");
    }

    FieldErrors& errors_;
    bool ratchets_;
};

void walk(const Value& object, const Value* old, const SchemaNode& root, std::size_t& budget, FieldErrors& errors) {
    FieldErrors found;
    Walker(found, old != nullptr, budget).value(object, old, root, PathStep());
    if (budget == 0) return errors.invalid(NoPath, "", "the object is too large to be checked against its schema");
    errors.append(std::move(found));
    ExtensionWalker(errors, old != nullptr).value(object, old, root, PathStep());
}

}  // namespace

Result<SchemaValidator> SchemaValidator::compile(const Value& schema) {
    SchemaPatterns patterns;
    TRY(SchemaNode::Ptr root, SchemaNode::compile(schema, patterns));
    return SchemaValidator(std::move(root));
}

void validate_by_node(const Value& value, const SchemaNode& node, std::size_t& visits, FieldErrors& errors) {
    walk(value, nullptr, node, visits, errors);
}

void SchemaValidator::validate(const Value& object, FieldErrors& errors) const {
    std::size_t visits = MostVisits;
    walk(object, nullptr, *root_, visits, errors);
}

void SchemaValidator::validate_update(const Value& object, const Value& old, FieldErrors& errors) const {
    FieldErrors found;
    std::size_t visits = MostVisits;
    walk(object, nullptr, *root_, visits, found);
    // Comparing is only worth while where there is something to forgive.
    if (found.empty()) return;
    visits = MostVisits;
    walk(object, &old, *root_, visits, errors);
}

}  // namespace porthole::schema
