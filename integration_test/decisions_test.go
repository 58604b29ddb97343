package integration

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// In this file, a decision is the behavior that this module has chosen where
// RFC 9309 or another standard permits several.
type decision struct {
	about string
	doc   string   // the package whose documentation states the decision
	tests []string // such as "robotsmw.TestFTP"; they fail if the decision does not hold
}

// decisions has a row for each decision, with the names of the tests of its
// behavior. A change to a decision changes its documentation and its tests too.
var decisions = []decision{
	// The URL that is checked.
	{"origin", "robotsmw",
		[]string{"robotsmw/internal/origin.TestGoogleTableWhereARobotsTxtCounts", "robotsmw.TestOriginsAreIsolated"}},
	{"a Host that overrides the URL's", "robotsmw",
		[]string{"robotsmw.TestHostHeaderMakesAnOrigin", "robotsmw.TestValidatorsOfAVirtualHost"}},
	{"one form of a host", "politeness",
		[]string{"politeness.TestOneHostHasOnePace", "robotsmw.TestSpellingsOfAnOriginShareItsRobotsTxt", "robotsmw.TestOneHostIsSent"}},
	{"a host that is too long", "robotsmw",
		[]string{"robotsmw.TestHostLongerThanAnyNameIsRefusedAtOnce", "politeness.TestHostLongerThanAnyName"}},
	{"a target of another authority", "robotsmw",
		[]string{"robotsmw.TestTargetThatNamesAnotherOrigin", "politeness.TestTargetOfAnotherHostIsAnError"}},
	{"another name for a path", "robotsmw",
		[]string{"robotsmw.TestAnotherNameForAPath", "robotsmw.TestDecisionNamesThePathThatDecided"}},
	{"ftp", "robotsmw",
		[]string{"robotsmw.TestFTP"}},
	{"other schemes", "robotsmw",
		[]string{"robotsmw.TestOtherSchemesAreNotOurs"}},
	{"every method and every hop", "robotsmw",
		[]string{"robotsmw.TestBlockedRequestIsNeverSent", "robotsmw.TestEveryRedirectHopIsChecked"}},
	{"/robots.txt itself", "robotstxt",
		[]string{"robotsmw.TestRobotsTxtItselfIsAlwaysAllowed", "robotsmw.TestOtherNamesOfRobotsTxtAreNotExempt"}},
	{"query and fragment", "robotsmw",
		[]string{"robotsmw.TestQueryIsMatchedAsSent", "robotsmw.TestTargetIsWhatIsSent"}},

	// Responses to a request for robots.txt.
	{"2xx", "robotsmw",
		[]string{"robotsmw.TestStatusMatrix"}},
	{"a wall's answer", "robotsmw",
		[]string{"robotsmw.TestAnswersOfWalls", "robotsmw.TestTheGoodCopyOutlastsAWall", "robotsmw.TestPagesOfErrors"}},
	{"content coding", "robotsmw",
		[]string{"robotsmw.TestGzipOfEmptyMembers", "robotsmw/internal/fetch.TestManyCodings", "robotsmw/internal/fetch.TestNamesThatAreNoCodings"}},
	{"redirects", "robotsmw",
		[]string{"robotsmw.TestRedirects", "robotsmw.TestLengthOfALocation", "robotsmw.TestCircles"}},
	{"Sitemap lines: their limits, and when there are none", "robotsmw",
		[]string{"robotsmw.TestSitemaps", "robotsmw.TestSitemaps_AreLimited", "robotsmw.TestSitemaps_WhileFetchesFail"}},
	{"4xx", "robotsmw",
		[]string{"robotsmw.TestStatusMatrix"}},
	{"401 and 403 as the draft of 1996 had them", "robotsmw",
		[]string{"robotsmw.TestStatusMatrix"}},
	{"unreachable", "robotsmw",
		[]string{"robotsmw.TestUnreachableFromTheStart", "robotsmw.TestGoodCopyOutlivesAnOutageOf31Days"}},
	{"the next try", "robotsmw",
		[]string{"robotsmw.TestNextTriesOfAnUnreachableOrigin", "robotsmw/internal/record.TestNextTryDoublesFromAMinuteToAnHour"}},
	{"unreachable for 30 days", "robotsmw",
		[]string{"robotsmw.TestUnreachableFromTheStart", "robotsmw.TestThirtyDaysSurviveRestarts"}},
	{"a good copy while its host rests", "robotsmw",
		[]string{"robotsmw.TestExpiredCopyServesWhileItsHostRests", "robotsmw.TestExpiredCopyDoesNotServeForAnInterval"}},
	{"lifetime of unavailable", "robotsmw",
		[]string{"robotsmw/internal/record.TestLifetime", "robotsmw.TestUnavailableIsNoCopyThatOutlivesAnOutage"}},
	{"what a failure keeps", "robotsmw",
		[]string{"robotsmw/internal/record.TestCause", "robotsmw.TestHugeAnswersLeaveNothingBehind"}},
	{"a fetch that all have left", "robotsmw",
		[]string{"robotsmw.TestFetchIsDroppedAndBegunAgain", "robotsmw.TestFetchesUnderWayCountIntoMaxOrigins"}},
	{"full", "robotsmw",
		[]string{"robotsmw.TestCacheDropsTheLeastRecentlyUsed", "robotsmw.TestFullOfUnreachableOrigins", "robotsmw/internal/cache.TestUnreachableOriginsShutOutNobody", "politeness.TestFullOfPausedHosts", "politeness.TestFullOfHostsWithinTheirInterval", "politeness.TestKeysAreCopies"}},
	{"lifetime", "robotsmw",
		[]string{"robotsmw/internal/record.TestLifetime", "robotsmw.TestRefreshBeforeTheLifetimeEnds", "robotsmw.TestRevalidation"}},
	{"size", "robotstxt",
		[]string{"robotsmw.TestOnlyTheFirst500KiBAreRead", "robotsmw/robotstxt.TestRFC9309_2_5_Limits"}},
	{"concurrent first requests", "robotsmw",
		[]string{"robotsmw.TestTenThousandCallersOnAColdOriginFetchOnce", "robotsmw.TestLeaderThatGivesUpLeavesTheFetchToTheOthers"}},

	// Lines of a robots.txt.
	{"which group", "robotstxt",
		[]string{"robotsmw/robotstxt.TestGoogleTable_WhichGroup", "robotsmw/robotstxt.TestGoogleTable_Groups"}},
	{"user-agent values with a version", "robotstxt",
		[]string{"robotsmw/robotstxt.TestRFC9309_2_2_1_UserAgentLine"}},
	{"a tie of equal length", "robotstxt",
		[]string{"robotsmw/robotstxt.TestRFC9309_2_2_2_AllowAndDisallow", "robotsmw/robotstxt.TestGoogleTable_WhichRule"}},
	{"percent-encoding", "robotstxt",
		[]string{"robotsmw/robotstxt.TestRFC9309_2_2_2_AllowAndDisallow", "robotsmw/robotstxt.TestRFC9309_2_2_3_SpecialCharacters"}},
	{"length of a pattern", "robotstxt",
		[]string{"robotsmw/robotstxt.TestMatch_AgreesWithReference"}},
	{"misspellings", "robotstxt",
		[]string{"robotsmw/robotstxt.TestRFC9309_2_3_1_5_ParsingErrors", "robotsmw/robotstxt.TestLines"}},
	{"a rule without a leading slash", "robotstxt",
		[]string{"robotsmw/robotstxt.TestRFC9309_2_2_2_AllowAndDisallow"}},
	{"a space inside a pattern", "robotstxt",
		[]string{"robotsmw/robotstxt.TestRFC9309_2_2_WhiteSpace"}},
	{"long lines", "robotstxt",
		[]string{"robotsmw/robotstxt.TestRFC9309_2_5_Limits"}},
	{"other lines between user-agent lines", "robotstxt",
		[]string{"robotsmw/robotstxt.TestRFC9309_2_2_4_OtherRecords"}},
	{"whose is a Crawl-delay", "robotstxt",
		[]string{"robotsmw/robotstxt.TestCrawlDelay_SharedGroup", "robotsmw/robotstxt.TestSharedCorpusCrawlDelays"}},
	{"bytes that are no text", "robotstxt",
		[]string{"robotsmw/robotstxt.TestHostileBodies", "robotsmw/robotstxt.TestRFC9309_2_3_1_5_ParsingErrors"}},
	{"a comment, white space and line ends", "robotstxt",
		[]string{"robotsmw/robotstxt.TestMatch_LineNumbers", "robotsmw/robotstxt.TestRFC9309_2_2_WhiteSpace"}},

	// Directives of a page.
	{"restrictions add up", "robotsmeta",
		[]string{"robotsmw/robotsmeta.TestUnion"}},
	{"scopes in X-Robots-Tag", "robotsmeta",
		[]string{"robotsmw/robotsmeta.TestXRobotsTag"}},
	{"dates", "robotsmeta",
		[]string{"robotsmw/robotsmeta.TestDates", "robotsmw/robotsmeta.TestUnavailableAfter"}},
	{"a page that was not examined", "robotsmw",
		[]string{"robotsmw.TestPageStates", "robotsmw.TestPageClosedEarlyIsPartial"}},

	// Order of composition, and pace.
	{"order of composition", "robotsmw",
		[]string{"integration_test.TestCacheBetween", "robotsmw.TestCrawlDelayReachesTheLimiterBelow"}},
	{"the slot of a host", "politeness",
		[]string{"politeness.TestSlotIsHeldToTheBodysEnd", "politeness.TestUnreadBodyIsNamedOnce"}},
	{"what pauses a host", "politeness",
		[]string{"politeness.TestWhatRestsAHost", "politeness.TestBackOff_OneIntervalMore", "politeness.TestBackOff_ResponsesOfOneIncident"}},
	{"a caller whose deadline comes first", "politeness",
		[]string{"politeness.TestDeadlineTooEarlyIsRefusedAtOnceAndConsumesNothing", "robotsmw.TestDeadlineBeforeTheSlotOfRobotsTxt"}},
	{"a refused wait is not an outage", "robotsmw",
		[]string{"robotsmw.TestRefusedWaitOfRobotsTxtIsNoOutage"}},
	{"http.Client.Timeout", "politeness",
		[]string{"politeness.TestAttemptTimeout", "politeness.TestClientTimeoutShorterThanTheWait"}},
	{"replays by net/http", "politeness",
		[]string{"politeness.TestReplayKeepsThePace_RealConnections", "politeness.TestReplayKeepsThePace_RefusedStream"}},
	{"the fetch of robots.txt and Crawl-delay", "politeness",
		[]string{"politeness.TestExemptFetchOfRobotsTxt"}},

	{"quotas in the headers of a server", "politeness",
		[]string{"politeness.TestQuotasAreKept", "politeness.TestQuotasOnlyLengthen"}},
	{"a field that steers the pace is short", "politeness",
		[]string{"politeness/internal/headers.TestQuotas_Floods"}},
	{"preferences of several signals", "preference",
		[]string{"robotsmw/preference.TestFor_EachPairOfSources"}},
	{"a preference that cannot be read", "preference",
		[]string{"robotsmw/preference.TestFor_InvalidFields", "robotsmw/preference.TestSays_HostileInput"}},
	{"a budget for a day", "politeness",
		[]string{"politeness.TestBudget_Requests", "politeness.TestBudget_Exempt", "politeness.TestBudget_Fleet"}},
	{"a refusal in a page's place", "robotsmw",
		[]string{"robotsmw.TestRefusalsOfPages", "robotsmw.TestARefusalIsHandedOnAndNotTriedAgain"}},

	// Integration with colly.
	{"a transport or proxy that is set after Attach", "collyrobots",
		[]string{"robotsmw/collyrobots.TestNothingIsSentPastTheGuard", "robotsmw/collyrobots.TestOnRequestHeadersOfABareClone"}},
	{"the user's own client", "collyrobots",
		[]string{"robotsmw/collyrobots.TestTheUsersClientIsNotChanged"}},
	{"clones", "collyrobots",
		[]string{"robotsmw/collyrobots.TestCloneMadeBeforeAttachSetsATransport", "robotsmw/collyrobots.TestCloneObeysRobotsTxtWithoutCallbacks"}},
	{"a timeout that is set after Attach", "collyrobots",
		[]string{"robotsmw/collyrobots.TestTimeoutDoesNotCountTheWait", "robotsmw/collyrobots.TestTimeoutsUnderALimitRule"}},
	{"colly's own check", "collyrobots",
		[]string{"robotsmw/collyrobots.TestRobotsTxtAnswers503", "robotsmw/collyrobots.TestQueryKeepsItsOrder"}},
	{"Retry of a refusal", "collyrobots",
		[]string{"robotsmw/collyrobots.TestRetryOfARefusalEnds", "robotsmw/collyrobots.TestRetryOfAFailure"}},
	{"nofollow of a page", "collyrobots",
		[]string{"robotsmw/collyrobots.TestNoFollow", "robotsmw/collyrobots.TestNoFollowLeavesTheUsersContextAlone"}},

	// Fleets.
	{"one owner per host", "redislimit",
		[]string{"politeness.TestFleet_WaitsForTheHost", "politeness.TestFleet_StateIsHandedOver"}},
	{"a session and its trust", "redislimit",
		[]string{"politeness.TestFleet_Trust"}},
	{"state lost", "redislimit",
		[]string{"integration_test.TestRedisLimitChaos"}},
	{"the engine away", "redislimit",
		[]string{"integration_test.TestRedisLimitChaos"}},
}

func TestDecisions_HaveTests(t *testing.T) {
	found := make(map[string][]string)
	for _, d := range decisions {
		if len(d.tests) == 0 {
			t.Errorf("the row of the decision %q names no test", d.about)
		}
		for _, test := range d.tests {
			i := strings.LastIndexByte(test, '.')
			dir, name := test[:i], test[i+1:]
			if found[dir] == nil {
				found[dir] = testsOf(t, filepath.Join("..", filepath.FromSlash(dir)))
			}
			if !slices.Contains(found[dir], name) {
				t.Errorf("the row of the decision %q names a test that does not exist: package %s has no %s", d.about, dir, name)
			}
		}
	}
}

func testsOf(t *testing.T, dir string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	names := []string{}
	for _, path := range files {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, decl := range file.Decls {
			if f, ok := decl.(*ast.FuncDecl); ok && f.Recv == nil && strings.HasPrefix(f.Name.Name, "Test") {
				names = append(names, f.Name.Name)
			}
		}
	}
	return names
}
