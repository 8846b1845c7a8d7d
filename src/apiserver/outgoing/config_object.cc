#include "apiserver/outgoing/config_object.h"

#include <algorithm>

#include "base/strings.h"
#include "base/time/time.h"
#include "schema/yaml/yaml.h"

namespace porthole::apiserver {

using schema::Value;

void ConfigProblems::add(std::string_view path, std::string_view what) {
    texts_.push_back(path.empty() ? std::string(what) : std::string(path) + ": " + std::string(what));
}

void ConfigProblems::required(std::string_view path, std::string_view why) {
    add(path, why.empty() ? std::string("Required value") : "Required value: " + std::string(why));
}

void ConfigProblems::invalid(std::string_view path, std::string_view value, std::string_view why) {
    add(path, "Invalid value: " + quote(value) + ": " + std::string(why));
}

Result<void> ConfigProblems::outcome(std::string_view source) const {
    if (texts_.empty()) return {};
    const std::string all = texts_.size() == 1 ? texts_.front() : "[" + join(texts_, ", ") + "]";
    return Error(Reason::BadRequest, std::string(source) + ": " + all);
}

ConfigObject::ConfigObject(const Value& value, std::string path, ConfigProblems& problems)
    : value_(&value), path_(std::move(path)), problems_(&problems) {
    if (value.is_object() || value.is_null()) return;
    problems.add(path_, std::string("expected object, got ") + value.type_name());
    value_ = &schema::null_value();
}

std::string ConfigObject::path_of(std::string_view field) const {
    return path_.empty() ? std::string(field) : path_ + "." + std::string(field);
}

const Value* ConfigObject::find(std::string_view field, const char* type, bool (Value::*is)() const) {
    known_.emplace_back(field);
    const Value* found = value_->find(field);
    if (!found || found->is_null()) return nullptr;
    if ((found->*is)()) return found;
    problems_->add(path_of(field), std::string("expected ") + type + ", got " + found->type_name());
    return nullptr;
}

bool ConfigObject::has(std::string_view field) {
    known_.emplace_back(field);
    const Value* found = value_->find(field);
    return found && !found->is_null();
}

std::string ConfigObject::text(std::string_view field, std::string_view fallback) {
    const Value* found = find(field, "string", &Value::is_string);
    return std::string(found ? std::string_view(found->as_string()) : fallback);
}

bool ConfigObject::flag(std::string_view field, bool fallback) {
    const Value* found = find(field, "bool", &Value::is_bool);
    return found ? found->as_bool() : fallback;
}

std::int64_t ConfigObject::integer(std::string_view field, std::int64_t fallback) {
    const Value* found = find(field, "whole number", &Value::is_int);
    return found ? found->as_int() : fallback;
}

Duration ConfigObject::duration(std::string_view field, Duration fallback) {
    const Value* found = find(field, "string", &Value::is_string);
    if (!found) return fallback;
    const auto parsed = parse_duration(found->as_string());
    if (parsed) return *parsed;
    problems_->add(path_of(field), parsed.error().message);
    return fallback;
}

std::vector<std::string> ConfigObject::texts(std::string_view field) {
    std::vector<std::string> texts;
    const Value* found = find(field, "list", &Value::is_array);
    if (!found) return texts;
    for (const Value& item : found->as_array()) {
        if (item.is_string()) {
            texts.push_back(item.as_string());
        } else {
            problems_->add(path_of(field) + "[" + std::to_string(texts.size()) + "]",
                           std::string("expected string, got ") + item.type_name());
            return {};
        }
    }
    return texts;
}

ConfigObject ConfigObject::object(std::string_view field) { return {value(field), path_of(field), *problems_}; }

std::vector<ConfigObject> ConfigObject::objects(std::string_view field) {
    std::vector<ConfigObject> objects;
    const Value* found = find(field, "list", &Value::is_array);
    if (!found) return objects;
    for (const Value& item : found->as_array())
        objects.emplace_back(item, path_of(field) + "[" + std::to_string(objects.size()) + "]", *problems_);
    return objects;
}

const Value& ConfigObject::value(std::string_view field) {
    known_.emplace_back(field);
    return schema::at(*value_, field);
}

std::vector<std::string> ConfigObject::fields() const {
    std::vector<std::string> names;
    if (!value_->is_object()) return names;
    for (const schema::Member& member : value_->as_object()) names.push_back(member.key);
    return names;
}

void ConfigObject::finish() {
    for (const std::string& field : fields())
        if (std::ranges::find(known_, field) == known_.end()) problems_->add("", "unknown field " + quote(path_of(field)));
}

Result<Value> parse_config(std::string_view text, std::string_view source, std::initializer_list<std::string_view> versions,
                           std::string_view kind) {
    std::vector<schema::DuplicateKey> duplicates;
    auto document = schema::parse_yaml(text, &duplicates);
    if (!document) return std::move(document).error().with_context(std::string(source));
    const std::string where(source);
    if (!document->is_object()) return Error(Reason::BadRequest, where + ": is not an object");
    const std::string_view version = document->string_at({"apiVersion"}), actual = document->string_at({"kind"});
    if (actual != kind || std::ranges::find(versions, version) == versions.end())
        return Error(Reason::BadRequest, where + ": apiVersion " + quote(version) + " with kind " + quote(actual) + " is not " +
                                             std::string(*versions.begin()) + " with kind " + std::string(kind));
    if (!duplicates.empty()) return Error(Reason::BadRequest, where + ": duplicate field " + quote(duplicates.front().path));
    document->erase("apiVersion");
    document->erase("kind");
    return std::move(*document);
}

}  // namespace porthole::apiserver
