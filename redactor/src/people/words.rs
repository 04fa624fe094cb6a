//! Words around names, in lower case and without marks, in the large languages of Europe.

pub(super) const TITLES: &str = "
mr mrs ms mx miss mister missus dr doctor prof professor sir madam dame lord lady rev reverend hon fr sr
herr herrn frau fraulein hr fru doktor mag ing dipl
m mme mlle monsieur madame mademoiselle maitre mgr
senor senora senorita don dona sra srta sig signor signora signorina dott dottssa avv
senhor senhora exmo exma
pan pani panu panem pana panow panstwo pp ks mgr inz mec
pane panna panove slecna gospodin gospodja gospoda gospa gospod gospodja gdin gdja dna
dl dna dlui domnul doamna
ur uram asszony kisasszony
dhr mevrouw meneer mevr mw heer
herra rouva neiti
bay bayan sayin sayın
господин госпожа г-н г-жа гн гжа мистер миссис товарищ доктор профессор пан пані г-ца господине госпожо
κος κα κυριος κυρια κυριε
officer detective sergeant captain lieutenant colonel   inspector   senator
congressman congresswoman       pastor    
kapitan sedzia ssr sso ssa     profesor doktor ksiadz 
nurse   imam rabbi sheikh
";

pub(super) const FIELDS: &str = "
firstname fname givenname forename middlename lastname lname surname familyname fullname displayname
realname maidenname nickname personname contactname customername clientname patientname employeename
username_full accountholder accountholdername holdername cardholder cardholdername nameoncard payee payeename
payer beneficiary beneficiaryname recipient recipientname sendername receivername ownername authorname
approvername managername doctorname physician physicianname attending signatory guarantor tenantname landlord
emergencycontact nextofkin spouse spousename mothername fathername guardian insured insuredname policyholder
applicant applicantname studentname candidate candidatename passenger passengername guestname
vorname nachname familienname zuname geburtsname ansprechpartner kontoinhaber
prenom nomdefamille nomcomplet titulaire
nombrecompleto apellido apellidos primerapellido segundoapellido titular
nomecompleto sobrenome cognome nominativo intestatario
imie nazwisko imieinazwisko nazwiskoiimie posiadacz przewodniczacy protokolant wystawil wystawila
jmeno prijmeni meno priezvisko ime prezime priimek imeprezime
nume prenume numecomplet
keresztnev vezeteknev teljesnev
voornaam achternaam familienaam
fornamn efternamn fornavn etternavn efternavn etunimi sukunimi
имя фамилия отчество фио имафамилия имяотчество собственоиме фамилно
имя ім'я прізвище побатькові
ονομα επωνυμο ονοματεπωνυμο
patient pt attending_physician
paciente pacient pacienta pacientka pacjent pacjentka paziente patientin pasient potilas
sachbearbeiter sachbearbeiterin handlaggare behandler kontaktperson contactpersoon intesataria
supervisor teamlead linemanager caseworker claimant respondent appellant petitioner decedent testator
dictatedby transcribedby orderingphysician orderingprovider referringphysician collectedby verifiedby
";

pub(super) const LABELS: &str = "
name names nom nombre nome naam navn namn nimi nev isim ad adi jmeno ime imie nume
from to cc bcc replyto sender author owner contact customer client employee manager user member
von an de para od do
assignedto reportedby requestedby createdby approvedby reviewedby signedby preparedby
kontakt kunde klient klienci zaakaznik
sprzedawca kupujacy nabywca najemca wynajmujacy zleceniodawca zleceniobiorca pozwany powod pelnomocnik kierownik
subject_name buyer seller tenant lessee lessor borrower lender plaintiff defendant witness
nursing holder issuedto billto shipto attn attention caller callee agent_name signed
";

pub(super) const LEADS: &str = "
president chancellor minister premier bundeskanzler father judge justice brother sister coach dyrektor prezes prezydent
dear hi hello hey thanks cheers regards sincerely bye congratulations
spouse wife husband daughter son mother father sister brother mom dad aunt uncle cousin niece nephew grandmother grandfather
partner fiance fiancee girlfriend boyfriend friend colleague neighbor neighbour roommate boss
patient contact customer client named called nee
signed met told asked emailed called messaged contacted
liebe lieber geehrte geehrter hallo gruss grusse
bonjour cher chere cordialement
estimado estimada hola querido querida saludos atentamente
prezado prezada ola caro cara
gentile egregio ciao
szanowny szanowna drogi droga
kunde klient klientka klientowi
kedves tisztelt
grussen grusses groet groeten halsningar halsning hilsen pozdravem powazaniem saluti cumprimentos hyva
yours faithfully truly respectfully
beste geachte hoi
hej kara kare kaere
уважаемый уважаемая дорогой дорогая шановний шановна клиентът клиентката клиент клиентка пациент пациентка притежателят
титулярът титулярят титуляр titulyar
αγαπητε αγαπητη
sayin merhaba
titularul titulara clientul clienta clientului imetnik stranka klijent klijentica vlasnik korisnik stranko ugyfel
intestatario cliente kontoinhaber kundin inhaber titulaire
nazywa nazywam heisse heisst prowadzi prowadzacy podpisal podpisala zatwierdzil zatwierdzila wystawil wystawila odebral odebrala
";

pub(super) const PARTICLES: &str = "
de del della dello der den des di da do dos das du d la le las los l van von vom zu zum zur ter ten te
dalla dello nella aux sur sous bin ibn bint al el ul ben bar abu af av e y i st mac mc o
";

/// Given names that name times, places and products more often than people.
pub(super) const PLACES: &str = "
april may june august summer autumn winter ruby julia ada travis jenkins mercedes claude alexa siri cortana pascal perl
python java scala kotlin swift dart haskell crystal elm nim zig octave maple sage echo delta alpha beta gamma sigma omega
paris london brooklyn dallas austin houston phoenix sydney florence virginia georgia carolina israel china india asia
america chelsea madison lincoln washington kent chester dakota montana cheyenne denver memphis nevada aspen bristol
camden cruz london scotland england ireland wales france italia espana milan verona siena roma geneva vienna adelaide
alexandria lorraine bethlehem jericho zion eden santa maria jan jun jul mar victoria venus mars mercury jupiter saturn
apollo atlas titan zeus hera athena hermes orion leo aries gemini virgo libra nova terra gaia aurora star sun sky
watson easter christmas noel new old san saint major general minor max min van val       page 
    trace case link doc run skip  trinity harmony genesis victory liberty justice unity
berlin boston  basel odessa braga valencia    rio cali kingston
melbourne  hobart wellington  manila bali  cleveland columbus atlanta
raleigh  richmond trenton reno holland kenya burma cuba caesar  cassandra 
ridge marshall monte carlo  ember aurora neo loki terra  storm atlas hue  
elmo  newton pascal  ada  orin denver carmel monet rembrandt dell ford
lincoln porsche chanel armani boss 
brande ferne gabel juli juni juri kader kaiser lage lander liga marine osten saal september sommer tage tod tor tore villa
wende bett berg mei avril
august bauer baum berge blume boden brand bruder buch bucher burg burger chance dach deutsch engel fisch freitag freund gas
gold gott graf grund hande hauser herbst herzog januar kase kern kinder konig kopf kosten kraft lampe land lange laster linde
mai mangel mann masse meister messer park prinz ritter rohr rose salz schiff schuler schutz sieg stahl stein stern strom tur
vogel volk wahl ware weise wiese winter wolf
nebraska alaska philippine philippines kolmogorov lyapunov chebyshev nesterov kalashnikov molotov saratov casanova villanova
";

pub(super) const STOPS: &str = "
street st road rd avenue ave boulevard blvd lane ln drive dr court ct place pl square sq highway hwy way parkway
terrace trail crescent close circle strasse str platz weg allee gasse rue place quai calle plaza avenida rua praca via
piazza viale corso ulica aleja plac osiedle katu tie gatan vagen vej gade straat laan plein utca ut ter
university college school academy institute institut hospital clinic center centre church cathedral museum library
theater theatre stadium airport station hotel  garden gardens bridge tower  house building castle palace
island islands lake river mountain mount mont valley beach bay city town village county state province district region
 south east  northern southern eastern western central upper lower new old great
inc incorporated corp corporation co company llc ltd limited plc gmbh ag kg ohg sa sas sarl srl spa bv nv ab oy as aps
kft zrt sp zoo holding holdings group partners associates bank insurance capital ventures foundation association
union party committee council commission ministry department office agency bureau court police army navy
times post news journal magazine press media radio tv television records studio studios pictures
award awards cup league championship tournament series season prize medal open festival day week month year
monday tuesday wednesday thursday friday saturday sunday january february march    july  september
october november december
the a an and or but if then else when while for from with without into onto over under of in on at by to as is are was
were be been being has have had do does did will would shall should can could  might must not no yes this that these
those there here what which who whom whose why how all any some each every both either neither other another more most
less few many much several such same own our your his her its their my we you he she it they i me him us them
also however therefore thus moreover furthermore although because since until unless after before during between
please thanks thank hello hi dear note warning error info debug todo fixme see example figure table section chapter
api app cli sdk ide url uri http https html css json xml yaml sql csv pdf rest rpc tcp udp ip dns tls ssl ssh ci cd
server client service module class method function object array string integer boolean float null type interface
enum struct trait impl macro crate package library framework engine driver plugin extension component controller
model view template script command shell console terminal desktop mobile web browser window windows linux unix macos
android ios apple google microsoft amazon facebook twitter github gitlab docker kubernetes python java javascript
typescript rust ruby perl swift kotlin scala haskell postgres mysql redis mongo kafka spark hadoop apache nginx
test tests testing build builder release version update upgrade install setup config configuration settings option
options parameter parameters value values key keys token tokens password username email phone address name number
team support customer client user users admin administrator manager director president secretary treasurer chairman
chief officer executive board member members staff crew everyone everybody anyone folks guys friend friends sir madam
watsons none nan int str bool data public license early world there again love happy merry best good morning afternoon evening night welcome regards sincerely cheers
niemand jemand keiner jeder nadie alguien ninguem alguem nikt ktos nitko netko svatko nekdo nikdo ingen nogen iemand
nessuno qualcuno personne quelqu никто кто-то кто это он она они то так как что
true false north soviet nobody somebody someone everybody people men women children kimlik sayin others many
english french german italian spanish portuguese polish russian chinese japanese korean arabic hebrew greek turkish
dutch swedish danish norwegian finnish hungarian czech slovak romanian bulgarian croatian serbian ukrainian indian
american british european asian african australian canadian mexican brazilian
america europe asia africa australia england france germany italy spain portugal poland russia china japan korea india
sp spolka urzad sad sadu sadowi rejonowy rejonowego okregowy okregowego finansowy finansowa handlowy handlowa generalny generalna ul al os nr pl gmina powiat wojewodztwo miasto
der die das den dem des ein eine einer und oder mit fur von aus nach bei seit zum zur im am ist sind war
le les une des est sont dans sur sous avec pour par et ou
el los las una unos unas es son en con por para y
uma os nos nas com em por
il lo gli uno con per tra fra
w z na do od po za przez dla nad pod przy jest sa i oraz lub
sie es man das weil dann nur auch hatten tu elle son ma ta sa comment car sans sur dans vers
avant bien mal deja  su sus este esta esa pero hasta mas aun  era hay noi mio chi che
dove prima gia mai sera ha hanno ela vos sem  dia deze die boven dag han vi de din och eller
om fore fran tack har til tak ona oni moj ale bo maja karta cena tai koska oli sen  ama
";

/// Words that make what stands before or behind them a street.
pub(super) const STREETS: &str = "
street st road rd avenue ave av boulevard blvd lane ln drive dr court ct place pl square sq highway hwy way parkway pkwy
terrace ter trail trl crescent close circle cir alley mews turnpike expressway mall plaza heights quay gardens gdns grove wharf villas
strasse str platz weg allee gasse ring damm ufer
rue chemin impasse quai cours route
via viale piazza corso vicolo largo strada calle carrer camino avenida avda paseo plaza plazuela carrera ctra carretera
rua travessa praca estrada alameda
ulica ul aleja al os osiedle plac pl
namesti ulice trida
utca ut utja ter u korut
katu tie gatan vagen vej gade gata veien straat laan plein
strada str bulevardul calea aleea soseaua
cadde caddesi sokak sokagi mahallesi bulvari
улица ул проспект пр пр-т бульвар бул переулок пер шоссе площадь пл вулиця вул провулок
οδος λεωφορος πλατεια
";

/// What stands before the number of a flat.
pub(super) const UNITS: &str = "
apt apartment suite ste unit flat lokal lok mieszkanie appt apto piso wohnung top box
";

/// Countries and states before a postal code.
pub(super) const COUNTRIES: &str = "
afghanistan albania algeria andorra angola argentina armenia australia austria azerbaijan bahamas bahrain bangladesh barbados
belarus belgium belize benin bhutan bolivia botswana brazil brunei bulgaria burundi cambodia cameroon canada chad chile china
colombia comoros congo croatia cuba cyprus czechia denmark djibouti dominica ecuador egypt eritrea estonia eswatini ethiopia
fiji finland france gabon gambia georgia germany ghana greece greenland grenada guatemala guinea guyana haiti honduras hungary
iceland india indonesia iran iraq ireland israel italy jamaica japan jordan kazakhstan kenya kiribati kosovo kuwait kyrgyzstan laos
latvia lebanon lesotho liberia libya liechtenstein lithuania luxembourg madagascar malawi malaysia maldives mali malta mauritania
mauritius mexico micronesia moldova monaco mongolia montenegro morocco mozambique myanmar namibia nauru nepal netherlands
nicaragua niger nigeria norway oman pakistan palau panama paraguay peru philippines poland portugal qatar romania russia rwanda
samoa senegal serbia seychelles singapore slovakia slovenia somalia spain sudan suriname sweden switzerland syria taiwan
tajikistan tanzania thailand togo tonga tunisia turkey turkmenistan tuvalu uganda ukraine uruguay uzbekistan vanuatu venezuela
vietnam yemen zambia zimbabwe usa uk kingdom republic rica salvador leone lanka arabia korea emirates zealand tobago
islands herzegovina macedonia faso verde grenadines nevis barbuda lucia tome principe
greenlander
al ak az ar ca co ct de fl ga hi id il in ia ks ky la me md ma mi mn ms mo mt ne nv nh nj nm ny nc nd oh ok or pa ri sc sd tn
tx ut vt va wa wv wi wy dc pr aa ae ap nsw vic qld wlg ab bc mb nb ns qc sk yt
";
