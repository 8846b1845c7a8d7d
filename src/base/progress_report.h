#pragma once
#include <string>

namespace porthole {

/// Reports the steps of a longer operation to the user who waits for it. Steps may overlap; each is identified by its text, and gets one
/// done() or failed() after its begin(). Called on one thread.
class ProgressReport {
public:
    virtual ~ProgressReport() = default;
    virtual void begin(const std::string& step) = 0;
    virtual void done(const std::string& step) = 0;
    virtual void failed(const std::string& step, const std::string& why) = 0;
};

}  // namespace porthole
