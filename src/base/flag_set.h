#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/strings.h"

namespace porthole {

/// A command line in the syntax of Kubernetes' node programs: `--name=value` or `--name value`, `--switch` or `--switch=false`. Underscores
/// are equal to dashes, and the last of several values wins. The error for an unknown name suggests a similar one.
///
/// Every `target` given to add() is borrowed and must outlive the last parse(). The FlagSet must not be moved after add(). A target's value
/// before parse() is its default. Each name is added once.
class FlagSet {
public:
    using Take = std::function<Result<void>(const std::string& value)>;

    void add(const std::string& name, std::string& target, std::string help);
    void add(const std::string& name, bool& target, std::string help);
    void add(const std::string& name, std::int64_t& target, std::string help);
    /// Values separated by commas. The flag's first occurrence replaces the default, further ones append.
    void add(const std::string& name, std::vector<std::string>& target, std::string help);
    /// `key=value` separated by commas; "key" alone has an empty value. Repeated flags as above.
    void add(const std::string& name, std::map<std::string, std::string>& target, std::string help);
    /// `take` is called with each value in order; its error is appended to the flag's name.
    void add(const std::string& name, Take take, std::string help);
    /// Accepted without effect; `why` becomes a warning.
    void add_ignored(const std::string& name, std::string why);
    void add_ignored_switch(const std::string& name, std::string why);
    /// Another spelling of `name`.
    void add_alias(const std::string& alias, const std::string& name);

    /// `arguments` are without the program's name. Stops at the first error; targets of earlier flags are already set then. Error:
    /// BadRequest, one line with the flag and what helps.
    Result<void> parse(const std::vector<std::string>& arguments);
    bool given(const std::string& name) const { return given_.contains(name); }
    const std::vector<std::string>& warnings() const { return warnings_; }
    /// One line per flag, in order of names.
    std::string help() const;

private:
    struct Flag {
        Take take;
        bool is_switch = false;
        std::string help, ignored;
    };
    std::string suggestion(const std::string& name) const;

    std::map<std::string, Flag> flags_;
    std::map<std::string, std::string> aliases_;
    std::set<std::string> given_;
    std::vector<std::string> warnings_;
};

}  // namespace porthole
