#pragma once
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "schema/value.h"
#include "windows/placement.h"
#include "windows/rule.h"

namespace porthole::windows::lint {

/// The user's information about the nodes.
struct Options {
    std::string system;  ///< for pods that name none: "windows", "linux"; "" if unknown
    std::uint32_t build = 0;
    PodNetwork network = PodNetwork::Unknown;
    Runtime runtime;
};

/// A position in a text; all 0 if unknown.
struct Place {
    std::size_t line = 0, column = 0;  ///< from 1; a column is a character
    std::size_t length = 0;            ///< characters
};

/// A finding: one rule about one field of one object.
struct Problem {
    const Rule* rule = nullptr;
    std::string field;          ///< "spec.containers[0].securityContext.privileged"
    std::string words, remedy;  ///< the rule's, completed with the details
    std::string object;         ///< "Deployment default/web"
    std::string because;        ///< why the pod is assumed to be for its system; "" if that does not matter
    std::size_t document = 0;   ///< of the text, from 0; empty ones do not count
    std::string path;           ///< of the field in its document: "items[2].spec…"
    Place place;                ///< of the field, or of the object that lacks it
    bool fixable = false;       ///< whether there is an edit for it
};

/// The findings and objects in a text, in order.
struct Checked {
    std::vector<Problem> problems;
    std::size_t objects = 0;  ///< of Kubernetes
    std::size_t others = 0;   ///< documents that are not
};

/// The documents of a text: YAML or JSON. Errors: BadRequest, one line that helps.
Result<std::vector<schema::Value>> parse(std::string_view text);

/// Errors: those of parse().
Result<Checked> check(std::string_view text, const Options& options = {});

}  // namespace porthole::windows::lint
