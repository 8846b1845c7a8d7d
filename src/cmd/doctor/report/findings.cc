#include "cmd/doctor/report/findings.h"

namespace porthole::cmd::doctor {

void Findings::none(Item item, Verdict verdict, std::vector<std::string> objects, std::string detail, std::string remedy) {
    if (objects.empty()) return pass(item);
    all_.push_back({item, verdict, std::move(detail), std::move(remedy), std::move(objects)});
}

}  // namespace porthole::cmd::doctor
