#pragma once
#include <string>
#include <vector>

#include "schema/compiler/model.h"

namespace porthole::schemac {

/// Messages "file:line: what is wrong", in the order found.
class Diagnostics {
public:
    void add(const Place& place, const std::string& what);
    const std::vector<std::string>& lines() const { return lines_; }
    bool empty() const { return lines_.empty(); }

private:
    std::vector<std::string> lines_;
};

/// Reads one file of `api/`; the language is described in api/README.md. Reports wrong lines and continues after them.
std::unique_ptr<Package> parse_package(const std::string& file, const std::string& text, Diagnostics& diagnostics);

}  // namespace porthole::schemac
