#include "apiserver/validation/configuration_reader.h"

#include <algorithm>

#include "base/strings.h"
#include "schema/yaml/yaml.h"

namespace porthole::apiserver {

ConfigurationObject::ConfigurationObject(const schema::Value& value, schema::FieldPath path, ConfigurationFaults& faults)
    : value_(&value), path_(std::move(path)), faults_(faults) {
    if (!value.is_object()) expected(path_, "an object", value);
}

ConfigurationObject::~ConfigurationObject() {
    if (!value_->is_object()) return;
    for (const schema::Member& member : value_->as_object()) {
        if (std::ranges::find(known_, member.key) == known_.end())
            faults_.unknown.push_back("unknown field \"" + std::string(path_.child(member.key).text()) + '"');
    }
}

const schema::Value* ConfigurationObject::find(std::string_view name) const {
    const schema::Value* found = value_->find(name);
    return found && !found->is_null() ? found : nullptr;
}

const schema::Value* ConfigurationObject::read(std::string_view name) {
    known_.push_back(name);
    return find(name);
}

void ConfigurationObject::expected(const schema::FieldPath& path, const char* what, const schema::Value& got) {
    faults_.wrong_types.push_back((path.text().empty() ? "" : std::string(path.text()) + ": ") + "expected " + what + ", got " +
                                  got.type_name());
}

std::string ConfigurationObject::text(std::string_view name) {
    const schema::Value* found = read(name);
    if (found && !found->is_string()) expected(path_.child(name), "a string", *found);
    return found && found->is_string() ? found->as_string() : "";
}

bool ConfigurationObject::flag(std::string_view name) {
    const schema::Value* found = read(name);
    if (found && !found->is_bool()) expected(path_.child(name), "a bool", *found);
    return found && found->bool_or(false);
}

std::int64_t ConfigurationObject::number(std::string_view name) {
    const schema::Value* found = read(name);
    if (found && !found->is_int()) expected(path_.child(name), "an integer", *found);
    return found ? found->int_or(0) : 0;
}

const schema::Array& ConfigurationObject::list(std::string_view name) {
    static const schema::Array None;
    const schema::Value* found = read(name);
    if (found && !found->is_array()) expected(path_.child(name), "a list", *found);
    return found && found->is_array() ? found->as_array() : None;
}

std::vector<std::string> ConfigurationObject::texts(std::string_view name) {
    std::vector<std::string> texts;
    const schema::Array& items = list(name);
    for (std::size_t i = 0; i < items.size(); ++i) {
        if (items[i].is_string())
            texts.push_back(items[i].as_string());
        else
            expected(path_.child(name).index(i), "a string", items[i]);
    }
    return texts;
}

const schema::Value* ConfigurationObject::object(std::string_view name) { return read(name); }

Result<schema::Value> read_configuration(std::string_view text, ConfigurationFaults& faults) {
    std::vector<schema::DuplicateKey> duplicates;
    TRY(schema::Value tree, schema::parse_yaml(text, &duplicates));
    for (const schema::DuplicateKey& one : duplicates) faults.unknown.push_back("duplicate field " + quote(one.path));
    return tree;
}

}  // namespace porthole::apiserver
