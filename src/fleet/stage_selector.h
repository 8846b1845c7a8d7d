#pragma once
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "schema/value.h"

namespace porthole::fleet {

/// The subset of jq in which the keys of stages are usually written: `.a.b`, `.a.[].b`, and `| select( .type == "Ready" ) | .status` after
/// a list.
class StageQuery {
public:
    /// Error: BadRequest with the unsupported part.
    static Result<StageQuery> parse(std::string_view text);
    /// The results, without nulls. Points into `object`.
    std::vector<const schema::Value*> find(const schema::Value& object) const;

private:
    struct Step {
        enum class Kind { Member, Each, Select } kind = Kind::Member;
        std::vector<std::string> path;  ///< of Select; the one name of Member
        std::string wanted;             ///< of Select
    };
    static Result<void> parse_path(std::string_view text, std::vector<Step>& steps);
    std::vector<Step> steps_;
};

/// Which pods a stage is for.
class StageSelector {
public:
    /// From `spec.selector`; null selects nothing. Error: BadRequest with the field.
    static Result<StageSelector> parse(const schema::Value& selector);
    bool matches(const schema::Value& object) const;

private:
    struct Expression {
        StageQuery query;
        std::string op;
        std::vector<std::string> values;
    };
    static Result<Expression> parse_expression(const schema::Value& expression);
    static bool holds(const Expression& expression, const schema::Value& object);

    bool selects_ = false;
    std::map<std::string, std::string> labels_, annotations_;
    std::vector<Expression> expressions_;
};

/// Error: BadRequest for a member of `object` that is not in `known`; `where` is the object's name in it.
Result<void> only_members(const schema::Value& object, const std::string& where, std::initializer_list<std::string_view> known);

}  // namespace porthole::fleet
