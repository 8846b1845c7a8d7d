#pragma once
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "runtime/event_loop.h"
#include "schema/value.h"

namespace porthole::apiserver {

/// The errors of a configuration file, in the order found.
class ConfigProblems {
public:
    /// "<path>: <what>"
    void add(std::string_view path, std::string_view what);
    void required(std::string_view path, std::string_view why = "");
    void invalid(std::string_view path, std::string_view value, std::string_view why);
    bool empty() const { return texts_.empty(); }
    /// BadRequest with all of them, after "<source>: ". Success if there are none.
    Result<void> outcome(std::string_view source) const;

private:
    std::vector<std::string> texts_;
};

/// One object of a configuration file, read field by field and strictly: a field of the wrong type is an error, and so is, at finish(), a
/// field that was not read. Borrows the value and the problems. A field that is missing, null or of the wrong type reads as the fallback.
///
///     ConfigObject root(document, "", problems);
///     const std::string name = root.text("name");
///     for (ConfigObject& one : root.objects("limits")) { ...; one.finish(); }
///     root.finish();
class ConfigObject {
public:
    ConfigObject(const schema::Value& value, std::string path, ConfigProblems& problems);

    /// The path of a field: "jwt[0].issuer.url".
    std::string path_of(std::string_view field) const;
    const std::string& path() const { return path_; }
    /// Whether the field is there and not null.
    bool has(std::string_view field);
    std::string text(std::string_view field, std::string_view fallback = "");
    bool flag(std::string_view field, bool fallback = false);
    std::int64_t integer(std::string_view field, std::int64_t fallback = 0);
    /// As Go writes it: "30s".
    Duration duration(std::string_view field, Duration fallback);
    std::vector<std::string> texts(std::string_view field);
    /// An empty one where the field is missing.
    ConfigObject object(std::string_view field);
    std::vector<ConfigObject> objects(std::string_view field);
    /// Unconverted; null if it is missing.
    const schema::Value& value(std::string_view field);
    /// The names of all fields of this object.
    std::vector<std::string> fields() const;
    ConfigProblems& problems() { return *problems_; }

    /// Reports the fields that were not read.
    void finish();

private:
    const schema::Value* find(std::string_view field, const char* type, bool (schema::Value::*is)() const);

    const schema::Value* value_;
    std::string path_;
    ConfigProblems* problems_;
    std::vector<std::string> known_;
};

/// A YAML or JSON document with apiVersion and kind, of which `versions` and `kind` are accepted. Error: BadRequest that names `source`.
Result<schema::Value> parse_config(std::string_view text, std::string_view source, std::initializer_list<std::string_view> versions,
                                   std::string_view kind);

}  // namespace porthole::apiserver
