#pragma once
#include <string>
#include <vector>

namespace porthole::cmd::doctor {

enum class Verdict { Pass, Warn, Fail, NotApplicable };

/// A requirement that is checked.
struct Item {
    const char* number;  ///< in the CIS Kubernetes Benchmark 1.12; "" if it is not in the benchmark
    const char* title;
};

/// The result for one item. A plain value.
struct Finding {
    Item item;
    Verdict verdict = Verdict::Pass;
    std::string detail;                ///< what was found, or why the item does not apply; may be "" for a pass
    std::string remedy;                ///< what to do; "" only for Pass and NotApplicable
    std::vector<std::string> objects;  ///< which ones are concerned
};

/// Collects the checks' findings, in any order.
class Findings {
public:
    void pass(Item item, std::string detail = "") { all_.push_back({item, Verdict::Pass, std::move(detail), "", {}}); }
    void warn(Item item, std::string detail, std::string remedy, std::vector<std::string> objects = {}) {
        all_.push_back({item, Verdict::Warn, std::move(detail), std::move(remedy), std::move(objects)});
    }
    void fail(Item item, std::string detail, std::string remedy, std::vector<std::string> objects = {}) {
        all_.push_back({item, Verdict::Fail, std::move(detail), std::move(remedy), std::move(objects)});
    }
    void not_applicable(Item item, std::string why) { all_.push_back({item, Verdict::NotApplicable, std::move(why), "", {}}); }
    /// Passes where `objects` is empty; else `verdict`.
    void none(Item item, Verdict verdict, std::vector<std::string> objects, std::string detail, std::string remedy);

    const std::vector<Finding>& all() const { return all_; }

private:
    std::vector<Finding> all_;
};

}  // namespace porthole::cmd::doctor
