#pragma once
#include <cstdint>
#include <map>
#include <string>

namespace porthole::scheduler {

/// What extenders have said about nodes that they were asked about. A node may be neither accepted nor refused: it is then not used, for no
/// known reason.
struct ExtenderAnswers {
    struct Refusal {
        std::string reason;
        bool resolvable = true;  ///< preemption may help
    };
    std::map<std::string, std::int64_t> accepted;  ///< by node: the sum of the weighted scores
    std::map<std::string, Refusal> refused;        ///< by node
};

}  // namespace porthole::scheduler
