//! Verbs whose subject is a person, in lower case and without marks.

/// Verbs of speech. News and reports of many languages put who spoke right behind them as well
/// as before them: `said Novak`, `Novak sagte`, `kazao je Novak`.
pub(super) const SAYS: &str = "
said says replied joked quipped
sagte sagt meinte erklarte betonte antwortete fragte klagte raumte
powiedzial powiedziala mowi stwierdzil stwierdzila dodal dodala oswiadczyl oswiadczyla zapytal zapytala
odpowiedzial odpowiedziala podkreslil podkreslila twierdzi wyjasnil wyjasnila zeznal zeznala zaznaczyl zaznaczyla
kazao kazala rekao rekla izjavio izjavila istaknuo istaknula dodao dodala upozorio upozorila naveo navela porucio
porucila objasnio objasnila naglasio naglasila ocijenio ocijenila ustvrdio ustvrdila odgovorio odgovorila
rekl rekla uvedl uvedla prohlasil prohlasila vysvetlil vysvetlila povedal povedala uviedol uviedla
dejal dejala povedal pojasnil pojasnila poudaril poudarila
сказал сказала заявил заявила отметил отметила добавил добавила пояснил пояснила рассказал рассказала ответил ответила
подчеркнул подчеркнула сказав заявив зазначив зазначила додав повідомив повідомила розповів розповіла
каза заяви обясни посочи
dijo dice afirmo explico aseguro senalo agrego anadio manifesto respondio
disse diz afirmou explicou declarou contou acrescentou respondeu
dichiarato spiega spiegato dichiara ribadisce
declare affirme explique ajoute precise repond raconte
zei zegt aldus vertelde vertelt antwoordde
sade sager berattade menar forklarade
sagde siger fortalte forklarer mener sa sier forteller sanoi sanoo kertoi kertoo
spus declarat afirmat
mondta mondja
ειπε δηλωσε τονισε
";

/// What people do and firms, programs and papers hardly.
pub(super) const ACTS: &str = "
admitted asked believes confessed cried died feels forgot grinned groaned hugged hopes knelt laughed loves lives married
mumbled murmured nodded phoned remembers retired sighed shouted shrugged smiled smirked sobbed thinks thought wept
whispered wonders yawned yelled recalled recalls apologised apologized resigned complained insisted begged blushed
promised tweeted emailed texted
lachte lachelte starb heiratete nickte weinte schrie glaubt hofft lebt
umarl umarla zmarl zmarla mieszka
umro umrla smatra vjeruje
умер умерла родился родилась живет считает думает
murio nacio vive cree piensa morreu nasceu mora acha acredita
nato nata vive crede
vit croit pense habite
woont denkt gelooft stierf overleed
bor tror dog bor tycker
";
