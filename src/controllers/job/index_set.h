#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace porthole::controllers {

/// A set of completion indexes in the form that a job's status carries: "0,2-5,9", ascending, ranges of three or more joined.
class IndexSet {
public:
    /// Ignores everything that is not a number below `limit`: a status that a user has edited must not stop the job.
    static IndexSet parse(std::string_view text, std::int32_t limit);

    void insert(std::int32_t index);
    bool contains(std::int32_t index) const;
    /// The lowest index that is not in the set, from `index` on.
    std::int32_t first_absent(std::int32_t index) const;
    std::int32_t size() const;
    /// Of what both contain. Takes as long as there are ranges, however large they are.
    std::int32_t size_of_common(const IndexSet& other) const;
    bool empty() const { return ranges_.empty(); }
    std::string to_string() const;
    bool operator==(const IndexSet&) const = default;

private:
    struct Range {
        std::int32_t first, last;
        bool operator==(const Range&) const = default;
    };
    std::vector<Range> ranges_;  ///< ascending, with gaps between
};

}  // namespace porthole::controllers
