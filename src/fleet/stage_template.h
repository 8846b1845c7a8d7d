#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "schema/value.h"

namespace porthole::fleet {

struct TemplateNode;

/// The results of template functions that do not depend on their arguments only.
struct TemplateFunctions {
    std::string now;                                     ///< RFC 3339, the result of `Now`
    std::function<std::string()> node_ip;                ///< `NodeIP`, `NodeIPWith x`: of the pod's node
    std::function<std::optional<std::string>()> pod_ip;  ///< `PodIP`, `PodIPWith …`: an address of the node's range; nullopt if none
};

/// The subset of Go's text/template that the stages of KWOK are mostly written in.
///
/// Actions: if, else if, else, range (also with `$i, $x :=`), with, end, assignments to variables, comments, pipes, parentheses, and `{{-`
/// `-}}`. Operands: `.a.b`, `$x.a`, strings, numbers, true, false, nil. Functions: Now, Quote, NodeIP, NodeIPWith, PodIP, PodIPWith, and,
/// or, not, eq, ne, index. Anything else is refused by name when the template is parsed.
class StageTemplate {
public:
    /// Error: BadRequest with the unsupported part.
    static Result<StageTemplate> parse(std::string_view text);
    StageTemplate(StageTemplate&&) noexcept;
    StageTemplate& operator=(StageTemplate&&) noexcept;
    ~StageTemplate();

    /// Errors: BadRequest for a result that is too long; ServiceUnavailable if `pod_ip` returns nothing.
    Result<std::string> render(const schema::Value& object, const TemplateFunctions& functions) const;

private:
    explicit StageTemplate(std::unique_ptr<std::vector<TemplateNode>> nodes);
    std::unique_ptr<std::vector<TemplateNode>> nodes_;
};

}  // namespace porthole::fleet
