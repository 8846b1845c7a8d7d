#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "schema/fields/field_errors.h"

namespace porthole::apiserver {

/// Findings while a configuration file was read, in the order of the file.
struct ConfigurationFaults {
    std::vector<std::string> wrong_types;  ///< "rules[0].users: expected a list, got a string"
    std::vector<std::string> unknown;      ///< "unknown field \"rules[0].level2\"", and duplicate keys
};

/// One object of a configuration file (a policy, an EncryptionConfiguration). Each reader marks its member as known; members not read
/// before the object is destroyed are unknown fields. A member that is missing or null reads as "", false or empty. Borrows the tree and
/// the faults.
class ConfigurationObject {
public:
    /// Anything but an object reads as an empty one, and is a fault.
    ConfigurationObject(const schema::Value& value, schema::FieldPath path, ConfigurationFaults& faults);
    ConfigurationObject(const ConfigurationObject&) = delete;
    ~ConfigurationObject();

    bool has(std::string_view name) const { return find(name) != nullptr; }
    std::string text(std::string_view name);
    bool flag(std::string_view name);
    std::int64_t number(std::string_view name);
    std::vector<std::string> texts(std::string_view name);
    /// The list, to construct readers of the objects in it.
    const schema::Array& list(std::string_view name);
    /// The member, for a reader of its own; null if it is missing.
    const schema::Value* object(std::string_view name);

    const schema::FieldPath& path() const { return path_; }

private:
    const schema::Value* find(std::string_view name) const;
    const schema::Value* read(std::string_view name);
    void expected(const schema::FieldPath& path, const char* what, const schema::Value& got);

    const schema::Value* value_;
    const schema::FieldPath path_;
    ConfigurationFaults& faults_;
    std::vector<std::string_view> known_;
};

/// The tree of a YAML or JSON document; duplicate keys are added to `faults`. Error: BadRequest with the YAML parser's message.
Result<schema::Value> read_configuration(std::string_view text, ConfigurationFaults& faults);

}  // namespace porthole::apiserver
