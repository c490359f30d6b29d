#pragma once

#include "outcome.hpp"

#include <blockjacobi/blockjacobi.hpp>

#include <string>

namespace solve {

blockjacobi::SuggestOptions suggest_options(const Options& options, Solver solver);

/// False if no probe got anywhere: then there is nothing to go by.
bool is_recommendation(const blockjacobi::Suggestion& suggestion);

/// Of blocks that suggest() chose; infinity where it does not tell.
double predicted_iterations(const BlocksInfo& blocks);

/// One line: what was recommended and why, or that nothing was and which blocks are taken instead.
std::string reason(const BlocksInfo& blocks);

/// The options with the coarse level of the recommendation in place of Coarse::automatic.
Options with_suggested_coarse(Options options, const BlocksInfo& blocks);

}  // namespace solve
