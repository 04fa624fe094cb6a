//! The grammar of each format as its issuer's documents or public client code show it, a line a
//! spelling: the name of the format, then literals and, in braces, runs of generated characters
//! (`{alphabet*length}`). A format without a line fails the tests.

/// A literal, or that many characters of an alphabet.
pub(super) enum Part {
    Is(&'static str),
    Of(Alphabet, usize),
}

/// The characters of a run, and some that are near but not among them.
#[derive(Clone, Copy)]
pub(super) struct Alphabet {
    pub(super) letters: &'static str,
    pub(super) not: &'static str,
}

/// One spelling of a format.
pub(super) struct Sample {
    pub(super) format: &'static str,
    pub(super) parts: Vec<Part>,
}

/// All spellings of all formats.
pub(super) fn samples() -> Vec<Sample> {
    SAMPLES.lines().filter_map(sample).collect()
}

fn sample(line: &'static str) -> Option<Sample> {
    let (format, mut rest) = line.trim().split_once(' ')?;
    rest = rest.trim_start();
    let mut parts = Vec::new();
    while let Some((literal, run)) = rest.split_once('{') {
        let (run, after) = run.split_once('}').expect("a closed run");
        let (alphabet, length) = run.split_once('*').expect("alphabet*length");
        parts.extend((!literal.is_empty()).then_some(Part::Is(literal)));
        parts.push(Part::Of(named(alphabet), length.parse().expect("a length")));
        rest = after;
    }
    parts.extend((!rest.is_empty()).then_some(Part::Is(rest)));
    Some(Sample { format, parts })
}

/// The alphabets by name: what is in them, and what is near and is not.
fn named(alphabet: &str) -> Alphabet {
    let (letters, not) = match alphabet {
        "digit" => ("0123456789", "aA!"),
        "nonzero" => ("123456789", "aA!"),
        "hex" => ("0123456789abcdef", "gG!"),
        "HEX" => ("0123456789ABCDEF", "gG!"),
        "hexes" => ("0123456789abcdefABCDEF", "gG!"),
        "a-h" => ("0123456789abcdefgh", "iA!"),
        "lower" => ("abcdefghijklmnopqrstuvwxyz0123456789", "A!"),
        "upper" => ("ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789", "a!"),
        "letter" => ("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ", "5!"),
        "alnum" => (ALNUM, "_!"),
        "word" => (WORD, "+!"),
        "snake" => (SNAKE, "-!"),
        "base64" => (BASE64, "_!"),
        "any64" => (ANY64, "~!"),
        "bech32" => ("QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L", "B1Ob!"),
        other => panic!("no alphabet is called {other}"),
    };
    Alphabet { letters, not }
}

const ALNUM: &str = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
const SNAKE: &str = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
const WORD: &str = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";
const BASE64: &str = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+/";
const ANY64: &str = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+/_-";

const SAMPLES: &str = "
1password-secret-key   A3-{upper*6}-{upper*11}-{upper*5}-{upper*5}-{upper*5}
1password-secret-key   A3-{upper*6}-{upper*6}-{upper*5}-{upper*5}-{upper*5}-{upper*5}
1password-service      ops_eyJ{base64*250}
adafruit               aio_{alnum*28}
age-identity           AGE-SECRET-KEY-1{bech32*58}
airtable               pat{alnum*14}.{hex*64}
alibaba                LTAI{alnum*20}
amazon-mws             amzn.mws.{lower*8}-{lower*4}-{lower*4}-{lower*4}-{lower*12}
anthropic              sk-ant-api03-{word*93}AA
anthropic              sk-ant-admin01-{word*93}AA
artifactory-key        AKCp{alnum*69}
artifactory-reference  cmVmd{alnum*59}
atlassian-api          ATATT3{word*180}
atlassian-app          ATBB{alnum*32}
authress               sc_{lower*20}.{lower*4}.acc_{lower*16}.{any64*40}
authress               scauth_{lower*5}.{lower*6}.acc-{lower*10}.{any64*30}
aws-access-key         AKIA{upper*16}
aws-access-key         ASIA{upper*16}
aws-access-key         A3TX{upper*16}
aws-bedrock            ABSK{base64*109}
aws-bedrock-short      bedrock-api-key-{base64*200}
azure-client-secret    {word*3}8Q~{word*34}
bitbucket-data-center  BBDC-{any64*40}
braintree              access_token$production${lower*16}${hex*32}
braintree              access_token$sandbox${lower*16}${hex*32}
clickhouse             4b1d{alnum*38}
clojars                CLOJARS_{alnum*60}
cloudflare-origin      v1.0-{hex*24}-{hex*146}
contentful             CFPAT-{word*43}
crates-io              cio{alnum*32}
databricks             dapi{hex*32}
databricks             dapi{hex*32}-2
defined-networking     dnkey-{word*26}-{word*52}
digitalocean           dop_v1_{hex*64}
digitalocean           doo_v1_{hex*64}
digitalocean           dor_v1_{hex*64}
discord-bot            M{word*23}.{word*6}.{word*27}
discord-bot            N{word*25}.{word*6}.{word*38}
discord-webhook        https://discord.com/api/webhooks/{digit*18}/{word*68}
discord-webhook        https://canary.discordapp.com/api/webhooks/{digit*20}/{word*68}
docker-hub             dckr_pat_{word*27}
docker-hub             dckr_oat_{word*32}
docker-swarm           SWMTKN-1-{alnum*50}-{alnum*25}
docker-swarm           SWMKEY-1-{alnum*43}
doppler                dp.pt.{alnum*43}
doppler                dp.st.{lower*3}.{alnum*43}
dropbox-short          sl.{word*130}
duffel                 duffel_live_{word*43}
duffel                 duffel_test_{word*43}
dynatrace              dt0c01.{alnum*24}.{alnum*64}
easypost               EZAK{alnum*54}
easypost               EZTK{alnum*54}
facebook               EAAM{alnum*120}
facebook-app           {digit*16}|{word*27}
figma                  figd_{word*40}
figma                  figdr_{word*40}
firecrawl              fc-{hex*32}
flutterwave            FLWSECK_TEST-{a-h*32}-X
flutterwave            FLWPUBK-{a-h*32}-X
fly-io                 fo1_{word*43}
fly-io                 fm1r_{base64*120}
fly-io                 fm2_{base64*200}
frame-io               fio-u-{word*64}
gatehouse              gk_{word*43}
gatehouse              gs_{word*43}
github                 ghp_{alnum*36}
github                 gho_{alnum*36}
github                 ghu_{alnum*36}
github                 ghs_{alnum*36}
github                 ghr_{alnum*76}
github-app-jwt         ghs_{digit*7}_eyJ{word*90}.{word*120}.{word*86}
github-fine-grained    github_pat_{snake*22}_{snake*59}
gitlab                 glpat-{word*20}
gitlab                 gldt-{word*20}
gitlab                 glrt-{word*20}
gitlab                 glcbt-{word*22}
gitlab-runner          GR1348941{word*20}
google-api             AIza{word*35}
google-oauth-access    ya29.{word*180}
google-oauth-client    GOCSPX-{word*28}
google-oauth-refresh   1//0{word*98}
grafana-cloud          glc_{base64*120}
grafana-service        glsa_{alnum*32}_{hexes*8}
groq                   gsk_{alnum*52}
harness                pat.{word*22}.{hex*24}.{alnum*20}
harness                sat.{word*22}.{hex*24}.{alnum*20}
heroku                 HRKU-{word*60}
hubspot                pat-na1-{hex*8}-{hex*4}-{hex*4}-{hex*4}-{hex*12}
hubspot                pat-eu1-{hex*8}-{hex*4}-{hex*4}-{hex*4}-{hex*12}
huggingface            hf_{alnum*34}
huggingface-org        api_org_{letter*34}
infracost              ico-{alnum*32}
langfuse               sk-lf-{hex*8}-{hex*4}-{hex*4}-{hex*4}-{hex*12}
langfuse               pk-lf-{hex*8}-{hex*4}-{hex*4}-{hex*4}-{hex*12}
langsmith              lsv2_pt_{hex*32}_{hex*10}
langsmith              lsv2_sk_{hex*32}_{hex*10}
linear                 lin_api_{alnum*40}
linear                 lin_oauth_{alnum*64}
llama-cloud            llx-{word*48}
lob                    live_{hex*35}
lob                    test_pub_{hex*31}
mailchimp              {hex*32}-us14
mailgun                key-{hex*32}
mailgun                pubkey-{hex*32}
mailgun-key            {hex*32}-{hex*8}-{hex*8}
mapbox                 pk.eyJ{word*60}.{word*22}
mapbox                 sk.eyJ{word*90}.{word*22}
maxmind                {alnum*6}_{alnum*29}_mmk
netlify                nfp_{alnum*36}
new-relic              NRAK-{word*27}
new-relic              NRII-{word*32}
new-relic              NRJS-{word*19}
notion                 ntn_{digit*11}{alnum*32}
notion                 secret_{alnum*43}
npm                    npm_{alnum*36}
nuget                  oy2{lower*43}
nvidia                 nvapi-{word*64}
octopus                API-{upper*26}
openai                 sk-{alnum*48}
openai-legacy          sk-{alnum*20}T3BlbkFJ{alnum*20}
openai-project         sk-proj-{word*156}
openai-project         sk-svcacct-{word*156}
openai-project         sk-admin-{word*156}
openrouter             sk-or-v1-{hex*64}
openshift              sha256~{word*43}
perplexity             pplx-{alnum*48}
planetscale            pscale_tkn_{word*43}
planetscale            pscale_pw_{word*43}
planetscale            pscale_oauth_{word*32}
posthog                phc_{alnum*43}
posthog                phx_{alnum*43}
postman                PMAK-{hex*24}-{hex*34}
prefect                pnu_{alnum*36}
prefect                pnb_{alnum*36}
pulumi                 pul-{hex*40}
pypi                   pypi-AgE{word*150}
readme                 rdme_{lower*70}
replicate              r8_{alnum*37}
resend                 re_{alnum*8}_{alnum*24}
rubygems               rubygems_{hex*48}
scalingo               tk-us-{word*48}
sendgrid               SG.{word*22}.{word*43}
sendinblue             xkeysib-{hex*64}-{alnum*16}
sentry-org             sntrys_eyJ{base64*150}
sentry-user            sntryu_{hex*64}
settlemint             sm_pat_{alnum*16}
settlemint             sm_aat_{alnum*16}
shippo                 shippo_live_{hex*40}
shippo                 shippo_test_{hex*40}
shopify                shpat_{hexes*32}
shopify                shpca_{hexes*32}
shopify                shppa_{hexes*32}
shopify                shpss_{hexes*32}
slack-app              xapp-1-{alnum*11}-{digit*13}-{alnum*64}
slack-config           xoxe.xoxp-1-{alnum*163}
slack-config           xoxe-1-{alnum*146}
slack-token            xoxb-{digit*12}-{alnum*12}-{alnum*24}
slack-token            xoxp-{digit*12}-{alnum*12}-{alnum*12}-{alnum*32}
slack-webhook          https://hooks.slack.com/services/T0{alnum*9}/B0{alnum*9}/{alnum*24}
slack-webhook          https://hooks.slack-gov.com/triggers/T0{alnum*9}/{alnum*13}/{alnum*32}
snyk                   snyk_uat.{hex*8}.{word*43}
snyk                   snyk_sat.{hex*8}.{word*43}
sonar                  squ_{hex*40}
sonar                  sqp_{hex*40}
sonar                  sqa_{hex*40}
sourcegraph            sgp_{hexes*40}
sourcegraph            sgp_{hexes*16}_{hexes*40}
sourcegraph            sgp_local_{hexes*40}
square-access          EAAA{word*60}
square-oauth           sq0csp-{word*43}
square-oauth           sq0atp-{word*22}
stripe                 sk_live_{alnum*24}
stripe                 rk_test_{alnum*99}
stripe-webhook         whsec_{base64*32}
supabase               sbp_{hex*40}
supabase               sbp_oauth_{hex*40}
tailscale              tskey-auth-{alnum*12}-{alnum*32}
tailscale              tskey-{alnum*12}-{alnum*22}
tavily                 tvly-{alnum*32}
tavily                 tvly-dev-{alnum*32}
teams-webhook          https://contoso.webhook.office.com/webhookb2/{hex*8}-{alnum*4}-{alnum*4}-{alnum*4}-{alnum*12}@{alnum*8}-{alnum*4}-{alnum*4}-{alnum*4}-{alnum*12}/IncomingWebhook/{hex*32}/{hex*8}-{hex*4}-{hex*4}-{hex*4}-{hex*12}
telegram-bot           {nonzero*10}:AA{word*33}
tencent                AKID{alnum*32}
terraform-cloud        {alnum*14}.atlasv1.{word*67}
twilio                 SK{hex*32}
twilio                 AC{hex*32}
typeform               tfp_{word*59}
vault-batch            hvb.{word*140}
vault-service          hvs.{word*95}
vault-service          hvr.{word*24}
vault-service-legacy   s.{alnum*24}
vercel                 vcp_{alnum*24}
vercel                 vck_{alnum*56}
xai                    xai-{alnum*80}
yandex-cloud           AQVN{word*38}
yandex-cloud           YC{word*38}
yandex-cloud           t1.{word*20}.{word*86}
apify apify_api_{alnum*36}
asana 1/{digit*16}:{hex*32}
axiom xaat-{hex*8}-{hex*4}-{hex*4}-{hex*4}-{hex*12}
brave-search BSA{word*28}
brevo-smtp xsmtpsib-{hex*64}-{alnum*16}
buildkite bkua_{hex*40}
cal cal_live_{hex*32}
cerebras csk-{lower*48}
circleci CCIPAT_{alnum*22}_{hex*40}
clickup pk_{digit*8}_{upper*32}
cockroachdb CCDB1_{alnum*22}_{alnum*40}
confluent cflt{base64*60}
datadog-app ddapp_{alnum*34}
dbt dbtc_{word*40}
e2b e2b_{hex*40}
elevenlabs sk_{hex*48}
exoscale EXO{hex*24}
fireworks fw_{alnum*24}
gocardless live_{word*40}
grafana-legacy eyJrIjoi{alnum*92}
honeycomb hcaik_{lower*58}
infisical st.{hex*24}.{hex*32}.{hex*32}
intra42 s-s4t2ud-{hex*64}
ionic ion_{alnum*42}
jina jina_{alnum*60}
klaviyo pk_{hex*34}
launchdarkly sdk-{hex*8}-{hex*4}-{hex*4}-{hex*4}-{hex*12}
lichess lip_{alnum*20}
mailersend mlsn.{hex*64}
metabase mb_{base64*43}=
mollie live_{alnum*30}
mongodb-atlas mdb_sa_sk_{word*40}
neon napi_{lower*64}
netbird nbp_{alnum*36}
nightfall NF-{alnum*32}
onfido api_live.{word*11}.{word*32}
open-vsx ovsxp_{hex*8}-{hex*4}-{hex*4}-{hex*4}-{hex*12}
paddle pdl_live_apikey_{lower*26}_{alnum*22}_{alnum*3}
pinecone pcsk_{alnum*6}_{alnum*66}
plaid access-sandbox-{hex*8}-{hex*4}-{hex*4}-{hex*4}-{hex*12}
postman-collection PMAT-{upper*26}
pubnub-secret sec-c-{alnum*48}
quicknode QN_{hex*32}
razorpay rzp_live_{alnum*14}
render rnd_{alnum*32}
rootly rootly_{hex*64}
samsara samsara_api_{alnum*30}
scaleway SCW{upper*17}
secret-token-uri secret-token:{word*40}
segment sgp_{alnum*64}
stytch secret-live-{word*36}
supabase-secret sb_secret_{word*40}
telnyx KEY{upper*32}_{alnum*22}
together tgp_v1_{word*43}
trello ATTA{hex*72}
voyage pa-{word*43}
wakatime waka_{hex*8}-{hex*4}-{hex*4}-{hex*4}-{hex*12}
weights-and-biases wandb_v1_{word*77}
xata xau_{alnum*40}
zapier-webhook https://hooks.zapier.com/hooks/catch/{digit*8}/{alnum*7}
";
