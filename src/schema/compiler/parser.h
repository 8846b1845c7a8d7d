#pragma once
#include <string>
#include <vector>

#include "schema/compiler/model.h"

namespace porthole::schemac {

/// "file:line: what is wrong", in the order found.
class Complaints {
public:
    void add(const Place& place, const std::string& what);
    const std::vector<std::string>& lines() const { return lines_; }
    bool empty() const { return lines_.empty(); }

private:
    std::vector<std::string> lines_;
};

/// Reads one file of `api/`; the language is described in api/README.md. Complains and goes on where a line is wrong.
std::unique_ptr<Package> parse_package(const std::string& file, const std::string& text, Complaints& complaints);

}  // namespace porthole::schemac
